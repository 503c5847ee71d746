// Servers whose records, references, webhooks or checkouts change, vanish or mix up long after the create (§2.1, §2.3,
// §4.2, §4.3, §6, D3, D6, D15).
import type { RequirementId } from "../../../generated/requirement-ids.ts";
import { alone, also, caughtOnlyBy, forEach, provokedBy, through, type Faults, type How } from "../../broken/fault.ts";
import { ageing, confuses, paysAgain } from "../../broken/memory.ts";
import { data, records, responses, results } from "../../broken/changes.ts";
import { dataOf, isAccepted, refusal } from "../../broken/replies.ts";
import { everyNth, exchangesWithin, sent, shifted, type Fields, type Operations } from "../../broken/calls.ts";
import {
  changesRecord,
  changesUrl,
  delivers,
  drops,
  isOfEvent,
  isPayout,
  recordIn,
  rewrites,
} from "../../broken/webhooks.ts";

/** Changes records that could have been changed for a while. `change` returns its argument if there is no change. */
const whenOld =
  (change: (record: Fields) => Fields, operation: Operations = "verifyDisbursement"): How =>
  (world) => {
    const isOld = ageing(world);
    return data(operation, (record) => {
      const changed = change(record);
      return changed !== record && isOld(record["reference"]) ? changed : record;
    });
  };
const isFailing = ({ phoneNumber }: Fields) => String(phoneNumber).endsWith("089");
const failing = (change: (record: Fields) => Fields) =>
  records((record) => (record["status"] === "failed" ? change(record) : record));
const other = (value: unknown) => (typeof value === "number" ? value + 1 : "USD");
const withStatus = (status: string) => (record: Fields) => ({ ...record, status });

/** Pays an old reference again. */
const expires =
  (fits: (fields: Fields, first: Fields) => boolean): How =>
  ({ oldAge }) =>
    paysAgain((fields, first) => Date.now() - first.at > oldAge && fits(fields, first.fields));
const spelled = (fits: (reference: string) => boolean) => paysAgain(({ reference }) => fits(String(reference)));
const folded = (text: string) => text.normalize("NFC").trim().toLowerCase();

const falsifies = (change: (record: Fields) => Fields) => changesRecord(change, isOfEvent("disbursement.failed"));
/** Changes the merchant's reference as it is written in the JSON text of a webhook. */
const inReference = (change: (written: string) => string) =>
  rewrites((body) => body.replace(/(?<="merchantsReference":")(?:[^"\\]|\\.)*(?=")/, (written) => change(written)));
/** Shows `success` for a pending payout that fails, from its first verify on and for this time. */
const succeedsEarly =
  (lastsMs: number): How =>
  () => {
    const since = new Map<unknown, number>();
    return records((record) => {
      const { reference, status, customer } = record;
      if (status !== "pending" || !isFailing(customer as Fields)) return record;
      const first = since.get(reference) ?? Date.now();
      since.set(reference, first);
      return Date.now() - first <= lastsMs ? { ...record, status: "success" } : record;
    });
  };

const onlyFacts: RequirementId[] = ["life.facts-kept", "life.payouts-apart", "life.references-used"];

/** The checks of this requirement pay amounts and references of every kind, to every kind of address. */
const ofPayouts = provokedBy("records.as-requested", {
  ...forEach(["amount", "fee", "currency", "userId"], (field) => [
    `life.facts-kept: The ${field} of a payout changes two seconds later.`,
    whenOld((record) => ({ ...record, [field]: other(record[field]) })),
  ]),
  "life.facts-kept: The customer's number changes two seconds later.": caughtOnlyBy(
    onlyFacts,
    whenOld(({ customer, ...record }) => ({
      ...record,
      customer: { ...(customer as Fields), phoneNumber: "2250102030405" },
    })),
  ),
  "life.records-kept: A payout is unknown two seconds later.": caughtOnlyBy(
    ["life.records-kept", "life.ends-as-notified", "life.spellings-used", "life.references-used"],
    (world) => {
      const isOld = ageing(world);
      return responses("verifyDisbursement", (reply) =>
        isAccepted(reply) && isOld(dataOf(reply)["reference"]) ? refusal(404) : reply,
      );
    },
  ),
  "life.payouts-apart: Every fourth payout gets the record id of an earlier payout.": caughtOnlyBy(onlyFacts, () => {
    const ids: unknown[] = [];
    return records((record) => {
      if (!ids.includes(record["id"])) ids.push(record["id"]);
      const place = ids.indexOf(record["id"]);
      return place % 4 === 3 ? { ...record, id: ids[place - 1] } : record;
    });
  }),
  "life.settles: Payouts stay pending for ever.": alone(() => ({
    merchant: ({ finish }) => ({
      finish(payment, ...how) {
        if (payment.reference.startsWith("CHK")) finish(payment, ...how);
      },
    }),
  })),
  "life.ends-as-notified: A failed payout is pending for ever in verify, although its webhook reports the failure.":
    caughtOnlyBy(["life.ends-as-notified", "life.settles", "life.webhooks-sent"], failing(withStatus("pending"))),
  "life.ends-as-notified: A failed payout is a success in verify, although its webhook reports the failure.": failing(
    withStatus("success"),
  ),
  "life.ends-as-notified: The webhook of a failed payout reports a success.": also(
    "life.events-agree",
    falsifies(withStatus("success")),
  ),
  "life.ends-as-notified: A success turns into a failure two seconds later.": also(
    "life.final-status",
    whenOld((record) => (record["status"] === "success" ? { ...record, status: "failed" } : record)),
  ),
  "life.ends-as-notified: A payout that fails is a success for the first 100 ms.": succeedsEarly(100),
  "life.final-status: The create returns success for a payout that fails.": results((created, call) =>
    isFailing(sent(call)) ? { ...created, status: "success" } : created,
  ),
  "life.references-used: A reference is free again after two seconds.": expires(() => true),
  "life.references-used: The reference of a failed payout is free again after two seconds.": caughtOnlyBy(
    ["life.references-used", "life.spellings-used"],
    expires((_, first) => isFailing(first)),
  ),
  ...forEach(["amount", "phoneNumber"], (field) => [
    `life.references-used: After two seconds, references are unique only together with ${field}.`,
    expires((fields, first) => fields[field] !== first[field]),
  ]),
  "life.spellings-used: A reference in upper case can be used again.": spelled(
    (text) => text === text.toUpperCase() && /[A-Z]/.test(text),
  ),
  "life.spellings-used: A reference with a space at its start or end can be used again.": spelled(
    (text) => text !== text.trim(),
  ),
  "life.other-spellings: Another spelling of a used reference is refused with 409.": also(
    "life.spellings-distinct",
    confuses(folded),
  ),
  "life.webhooks-sent: The webhooks of payouts to Ghana are lost.": alone(
    drops((message) => isPayout(message) && recordIn(message)["country"] === "GH"),
  ),
  ...forEach(
    [
      ["an escaped slash", /%2F/],
      ["a plus sign in its path", /^[^?]*\+/],
      ["capitals in its path", /^[^?]*[A-Z]/],
      ["more than 1,024 characters", /^.{1025}/],
    ] as const,
    ([what, pattern]) => [
      `life.webhooks-sent: A webhook to a URL with ${what} is never sent.`,
      drops(({ url }) => pattern.test(url)),
    ],
  ),
  ...forEach(["amount", "fee", "reference", "currency"], (field) => [
    `life.webhooks-true: The ${field} in the webhook of a failed payout is false.`,
    also(
      "life.events-agree",
      caughtOnlyBy(
        ["life.webhooks-true", "webhook.amount"],
        falsifies((record) => ({ ...record, [field]: other(record[field]) })),
      ),
    ),
  ]),
  "life.webhooks-true: The amount is a text in a webhook.": rewrites((body) =>
    body.replace(/"amount":(\d+)/, '"amount":"$1"'),
  ),
  "life.webhooks-true: A quotation mark is not escaped in a webhook.": inReference((text) =>
    text.replaceAll('\\"', '"'),
  ),
  "life.webhooks-true: Letters outside of ASCII are question marks in a webhook.": inReference((text) =>
    text.replaceAll(/[^ -~]/g, "?"),
  ),
  "life.webhooks-addressed: Each webhook is sent to the first address too, two seconds later.": caughtOnlyBy(
    ["life.webhooks-addressed", "webhook.only-with-address", "life.webhooks-true", "webhook.amount"],
    ({ sleep, oldAge }) => {
      let first: string | undefined;
      return delivers(async (message, deliver) => {
        const url = (first ??= message.url);
        if (message.url !== url) void sleep(oldAge).then(() => deliver({ ...message, url }).catch(() => undefined));
        return deliver(message);
      });
    },
  ),
  "life.webhooks-addressed: Two webhooks that are sent within a few milliseconds go to each other's address.": (
    world,
  ) => {
    const exchange = exchangesWithin<string>(10, world);
    return delivers(async (message, deliver) => deliver({ ...message, url: await exchange(message.url) }));
  },
  "life.events-agree: The webhook of a failed payout has the event of a success.": rewrites((body) =>
    body.replace('"disbursement.failed"', '"disbursement.completed"'),
  ),
  "webhook.only-with-address: Webhooks are sent to their addresses in lower case.": changesUrl((url) =>
    url.toLowerCase(),
  ),
  "webhook.only-with-address: A webhook is sent to the URL without the slash at the end of its path.": changesUrl(
    (url) => url.replace("/?", "?"),
  ),
});

/** The check of this requirement finishes checkouts, which are read again at the end. */
const ofCheckouts = provokedBy("checkout.optional-fields", {
  "life.checkout-events-sent: Every second webhook of a checkout is lost.": () => {
    const isSecond = everyNth(2);
    return drops((message) => !isPayout(message) && isSecond());
  },
  "life.checkouts-apart: Every third checkout is an earlier checkout.": caughtOnlyBy(
    [
      "life.checkouts-apart",
      "checkout.links-differ",
      "checkout.page-amount",
      "checkout.link-pays-nothing",
      "life.webhooks-true",
      "webhook.checkout-outcome",
    ],
    () => {
      const made: Fields[] = [];
      return data("createCheckout", (checkout) => {
        made.push(checkout);
        const { url, reference, merchantsReference } = (made.length % 3 === 0 && made.at(-2)) || checkout;
        return { ...checkout, url, reference, merchantsReference };
      });
    },
  ),
  "life.checkouts-kept: A failed checkout is pending again two seconds later.": whenOld(
    (record) => (record["status"] === "failed" ? { ...record, status: "pending" } : record),
    "verifyCheckout",
  ),
});

export const faults: Faults = {
  ...ofPayouts,
  ...ofCheckouts,
  "verify.updated-not-before-created: The updatedAt of a failed payout is in another time zone.": through(
    "webhook.disbursement-failure",
    failing((record) => ({ ...record, updatedAt: shifted(record["updatedAt"], -3_600_000) })),
  ),
};
