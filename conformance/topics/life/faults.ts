// Servers whose records, references, webhooks or checkouts change, vanish or mix up long after the create (§2.1, §2.3,
// §4.2, §4.3, §6, D3, D6, D15).
import type { RequirementId } from "../../../generated/requirement-ids.ts";
import { also, caughtOnlyBy, forEach, hooksOf, through, type Faults, type How } from "../../broken/fault.ts";
import { ageing, confuses, paysAgain } from "../../broken/memory.ts";
import { data, records, responses, results } from "../../broken/changes.ts";
import { dataOf, isAccepted, refusal } from "../../broken/replies.ts";
import { everyNth, sent, shifted, type Fields, type Operations } from "../../broken/calls.ts";
import {
  changesRecord,
  changesUrl,
  drops,
  isOfEvent,
  isPayout,
  noContent,
  recordIn,
  rewrites,
} from "../../broken/webhooks.ts";

/** The checks of this requirement create payouts that are kept until the closing checks. */
const kept = (fault: Parameters<typeof through>[1]) => through("life.records-kept", fault);
/** The checks of this requirement pay amounts and references of every kind, to every kind of address. */
const paid = (fault: Parameters<typeof through>[1]) => through("records.as-requested", fault);

/** Changes old records. */
const whenOld =
  (change: (record: Fields) => unknown, operation: Operations = "verifyDisbursement"): How =>
  (world) => {
    const isOld = ageing(world);
    return data(operation, (record) => (isOld(record["reference"]) ? change(record) : record));
  };
const vanishes =
  (fits: (record: Fields) => boolean): How =>
  (world) => {
    const isOld = ageing(world);
    return responses("verifyDisbursement", (reply) => {
      const record = dataOf(reply);
      return isAccepted(reply) && isOld(record["reference"]) && fits(record) ? refusal(404) : reply;
    });
  };
const isFailing = ({ phoneNumber }: Fields) => String(phoneNumber).endsWith("089");
const failing = (change: (record: Fields) => Fields) =>
  records((record) => (record["status"] === "failed" ? change(record) : record));
const withStatus = (status: string) => (record: Fields) => ({ ...record, status });

/** Pays an old reference again. */
const expires =
  (fits: (fields: Fields, first: Fields) => boolean): How =>
  ({ oldAge }) =>
    paysAgain((fields, first) => Date.now() - first.at > oldAge && fits(fields, first.fields));
const spelled = (fits: (reference: string) => boolean) => kept(paysAgain(({ reference }) => fits(String(reference))));
const folded = (text: string) => text.normalize("NFC").trim().toLowerCase();

const falsifies = (change: (record: Fields) => Fields) => changesRecord(change, isOfEvent("disbursement.failed"));
/** Changes the merchant's reference as it is written in the JSON text of a webhook. */
const inReference = (change: (written: string) => string) =>
  rewrites((body) => body.replace(/(?<="merchantsReference":")(?:[^"\\]|\\.)*(?=")/, (written) => change(written)));
const asText = (field: string) => (body: string) => body.replace(new RegExp(`"${field}":(\\d+)`), `"${field}":"$1"`);

/** Gives every third checkout these fields of an earlier checkout. */
const shares =
  (...fields: string[]): How =>
  () => {
    const made: Fields[] = [];
    return data("createCheckout", (checkout) => {
      made.push(checkout);
      const source = (made.length % 3 === 0 ? made.at(-2) : undefined) ?? checkout;
      return { ...checkout, ...Object.fromEntries(fields.map((field) => [field, source[field]])) };
    });
  };

/** Shows `success` for a pending payout, from its first verify on and for this time. */
const succeedsEarly =
  (fits: (record: Fields) => boolean, lastsMs: number): How =>
  () => {
    const since = new Map<unknown, number>();
    return records((record) => {
      const { reference, status } = record;
      if (status !== "pending" || !fits(record)) return record;
      const first = since.get(reference) ?? Date.now();
      since.set(reference, first);
      return Date.now() - first <= lastsMs ? { ...record, status: "success" } : record;
    });
  };

const onlyFacts: RequirementId[] = ["life.facts-kept", "life.payouts-apart"];

export const faults: Faults = {
  "life.facts-kept": {
    ...forEach(["amount", "currency", "merchantsReference", "userId"], (field) => [
      `The ${field} of a payout changes two seconds later.`,
      kept(whenOld((record) => ({ ...record, [field]: field === "amount" ? 1 : "another" }))),
    ]),
    "The fee of a payout changes two seconds later.": kept(
      caughtOnlyBy(
        onlyFacts,
        whenOld((record) => ({ ...record, fee: Number(record["fee"]) + 1 })),
      ),
    ),
    "The customer's number changes two seconds later.": kept(
      caughtOnlyBy(
        onlyFacts,
        whenOld((record) => ({
          ...record,
          customer: { ...(record["customer"] as Fields), phoneNumber: "2250000000000" },
        })),
      ),
    ),
  },
  "life.records-kept": {
    "A payout is unknown two seconds later.": kept(
      caughtOnlyBy(
        ["life.records-kept", "life.ends-as-notified", "life.spellings-used"],
        vanishes(() => true),
      ),
    ),
  },
  "life.payouts-apart": {
    "Every fourth payout gets the record id of an earlier payout.": kept(
      caughtOnlyBy(onlyFacts, () => {
        const ids: unknown[] = [];
        return records((record) => {
          if (!ids.includes(record["id"])) ids.push(record["id"]);
          const place = ids.indexOf(record["id"]);
          return place % 4 === 3 ? { ...record, id: ids[place - 1] } : record;
        });
      }),
    ),
  },
  "life.settles": {
    "Payouts stay pending for ever.": kept(
      caughtOnlyBy("life.settles", (world) => ({
        ...hooksOf(records(withStatus("pending")), world),
        webhook: async (message, deliver) => (isPayout(message) ? noContent : deliver(message)),
      })),
    ),
  },
  "life.ends-as-notified": {
    "A failed payout is pending for ever in verify, although its webhook reports the failure.": kept(
      caughtOnlyBy("life.ends-as-notified", failing(withStatus("pending"))),
    ),
    "A failed payout is a success in verify, although its webhook reports the failure.": kept(
      caughtOnlyBy(["life.ends-as-notified", "webhook.truth"], failing(withStatus("success"))),
    ),
    "The webhook of a failed payout reports a success.": kept(
      caughtOnlyBy(
        ["life.ends-as-notified", "webhook.truth"],
        also("life.events-agree", falsifies(withStatus("success"))),
      ),
    ),
    "A success turns into a failure two seconds later.": kept(
      caughtOnlyBy(
        "life.ends-as-notified",
        also(
          "life.final-status",
          whenOld((record) => (record["status"] === "success" ? { ...record, status: "failed" } : record)),
        ),
      ),
    ),
    "A payout that fails is a success for the first 100 ms.": paid(
      succeedsEarly(({ customer }) => isFailing(customer as Fields), 100),
    ),
  },
  "life.final-status": {
    "The create returns success for a payout that fails.": kept(
      results((created, call) => (isFailing(sent(call)) ? { ...created, status: "success" } : created)),
    ),
  },
  "life.references-used": {
    "A reference is free again after two seconds.": kept(
      caughtOnlyBy(
        ["life.references-used", "life.spellings-used"],
        expires(() => true),
      ),
    ),
    "The reference of a failed payout is free again after two seconds.": kept(
      caughtOnlyBy(
        "life.references-used",
        expires((_, first) => isFailing(first)),
      ),
    ),
    ...forEach(["amount", "phoneNumber"], (field) => [
      `After two seconds, references are unique only together with ${field}.`,
      paid(
        caughtOnlyBy(
          "life.references-used",
          expires((fields, first) => fields[field] !== first[field]),
        ),
      ),
    ]),
  },
  "life.spellings-used": {
    "A reference in upper case can be used again.": caughtOnlyBy(
      "life.spellings-used",
      spelled((text) => text === text.toUpperCase() && /[A-Z]/.test(text)),
    ),
    "A reference with a space at its start or end can be used again.": caughtOnlyBy(
      "life.spellings-used",
      spelled((text) => text !== text.trim()),
    ),
  },
  "life.other-spellings": {
    "Another spelling of a used reference is refused with 409.": kept(
      also("life.spellings-distinct", confuses(folded)),
    ),
  },
  "life.webhooks-sent": {
    "The webhooks of payouts to Ghana are lost.": kept(
      caughtOnlyBy(
        "life.webhooks-sent",
        drops((message) => isPayout(message) && recordIn(message)["country"] === "GH"),
      ),
    ),
    ...forEach(
      [
        ["an escaped slash", /%2F/],
        ["a plus sign in its path", /^[^?]*\+/],
        ["capitals in its path", /^[^?]*[A-Z]/],
        ["more than 1,024 characters", /^.{1025}/],
      ] as const,
      ([what, pattern]) => [
        `A webhook to a URL with ${what} is never sent.`,
        paid(drops(({ url }) => pattern.test(url))),
      ],
    ),
  },
  "life.checkout-events-sent": {
    "Every second webhook of a checkout is lost.": kept(() => {
      const isSecond = everyNth(2);
      return drops((message) => !isPayout(message) && isSecond());
    }),
  },
  "life.webhooks-true": {
    "The amount in the webhook of a failed payout is false.": kept(
      caughtOnlyBy(
        "life.webhooks-true",
        also(
          "life.events-agree",
          falsifies((record) => ({ ...record, amount: Number(record["amount"]) + 1 })),
        ),
      ),
    ),
    ...forEach(["fee", "reference", "merchantsReference", "currency"], (field) => [
      `The ${field} in the webhook of a failed payout is false.`,
      kept(
        also(
          "life.events-agree",
          falsifies((record) => ({ ...record, [field]: field === "fee" ? 0 : "USD" })),
        ),
      ),
    ]),
    "The amount is a text in a webhook.": paid(rewrites(asText("amount"))),
    "A quotation mark is not escaped in a webhook.": paid(inReference((text) => text.replaceAll('\\"', '"'))),
    "Letters outside of ASCII are question marks in a webhook.": paid(
      inReference((text) => text.replaceAll(/[^ -~]/g, "?")),
    ),
  },
  "life.webhooks-addressed": {
    "Each webhook is sent to the first address too, two seconds later.": kept(
      caughtOnlyBy(["life.webhooks-addressed", "life.webhooks-true"], ({ sleep, oldAge }) => {
        let first: string | undefined;
        return {
          async webhook(message, deliver) {
            const url = (first ??= message.url);
            if (message.url !== url) void sleep(oldAge).then(() => deliver({ ...message, url }).catch(() => undefined));
            return deliver(message);
          },
        };
      }),
    ),
    "Two webhooks that are sent within a few milliseconds go to each other's address.": ({ sleep }) => {
      let waiting: { url: string; cross: (url: string) => void } | undefined;
      return {
        async webhook(message, deliver) {
          const other = waiting;
          waiting = undefined;
          other?.cross(message.url);
          if (other) return deliver({ ...message, url: other.url });
          const { promise, resolve: cross } = Promise.withResolvers<string>();
          const own = { url: message.url, cross };
          waiting = own;
          const url = await Promise.race([promise, sleep(10)]);
          if (waiting === own) waiting = undefined;
          return deliver({ ...message, url: url ?? message.url });
        },
      };
    },
  },
  "life.events-agree": {
    "The webhook of a failed payout has the event of a success.": kept(
      rewrites((body) => body.replace('"disbursement.failed"', '"disbursement.completed"')),
    ),
  },
  "life.checkouts-apart": {
    "Every third checkout is an earlier checkout.": kept(
      caughtOnlyBy(
        [
          "life.checkouts-apart",
          "checkout.links-differ",
          "checkout.page-amount",
          "checkout.link-pays-nothing",
          "life.webhooks-true",
        ],
        shares("url", "reference", "merchantsReference"),
      ),
    ),
  },
  "life.checkouts-kept": {
    "A failed checkout is pending again two seconds later.": kept(
      whenOld(
        (record) => (record["status"] === "failed" ? { ...record, status: "pending" } : record),
        "verifyCheckout",
      ),
    ),
  },
  "webhook.only-with-address": {
    "Webhooks are sent to their addresses in lower case.": paid(changesUrl((url) => url.toLowerCase())),
  },
  "verify.updated-not-before-created": {
    "The updatedAt of a failed payout is in another time zone.": through(
      "webhook.disbursement-failure",
      failing((record) => ({ ...record, updatedAt: shifted(record["updatedAt"], -3_600_000) })),
    ),
  },
};
