// Servers whose records, references, webhooks or checkouts change, vanish or mix up long after the create (§2.1, §2.3,
// §4.2, §4.3, §6, D3, D6, D15).
import type { RequirementId } from "../../../generated/requirement-ids.ts";
import { alone, also, caughtOnlyBy, forEach, provokedBy, through, type Faults, type How } from "../../broken/fault.ts";
import { ageing, confuses, paysAgain } from "../../broken/memory.ts";
import { data, records, responses, results } from "../../broken/changes.ts";
import { dataOf, isAccepted, refusal } from "../../broken/replies.ts";
import { everyNth, sent, shifted, type Fields, type Operations } from "../../broken/calls.ts";
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

/** Changes a record two seconds after it could first be changed. `change` returns its argument for other records. */
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
const other = (value: unknown) =>
  typeof value === "object"
    ? { ...value, phoneNumber: "2250102030405" }
    : typeof value === "number"
      ? value + 1
      : "USD";
const withStatus = (status: string) => (record: Fields) => ({ ...record, status });

/** Pays an old reference again if its first request fits. */
const expires =
  (fits: (first: Fields) => boolean): How =>
  ({ oldAge }) =>
    paysAgain((_, first) => Date.now() - first.at > oldAge && fits(first.fields));
const folded = (text: string) => text.normalize("NFC").trim().toLowerCase();

const falsifies = (change: (record: Fields) => Fields) => changesRecord(change, isOfEvent("disbursement.failed"));

const onlyFacts: RequirementId[] = ["life.facts-kept", "life.payouts-apart", "life.references-used"];

/** The checks of records.as-requested provoke these faults with amounts, references and addresses of every kind. */
const ofPayouts = provokedBy("records.as-requested", {
  ...forEach(["amount", "fee", "currency", "userId", "customer"], (field) => [
    `life.facts-kept: The ${field} of a payout changes two seconds later.`,
    caughtOnlyBy(
      onlyFacts,
      whenOld((record) => ({ ...record, [field]: other(record[field]) })),
    ),
  ]),
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
  "life.ends-as-notified: The webhook of a failed payout reports a success.": also(
    "life.events-agree",
    falsifies(withStatus("success")),
  ),
  "life.ends-as-notified: A success turns into a failure two seconds later.": also(
    "life.final-status",
    whenOld((record) => (record["status"] === "success" ? { ...record, status: "failed" } : record)),
  ),
  "life.final-status: The create returns success for a payout that fails.": results((created, call) =>
    isFailing(sent(call)) ? { ...created, status: "success" } : created,
  ),
  "life.references-used: A reference is free again after two seconds.": expires(() => true),
  "life.references-used: The reference of a failed payout is free again after two seconds.": expires(isFailing),
  "life.spellings-used: A reference with a space at its start or end can be used again.": paysAgain(({ reference }) =>
    /^\s|\s$/.test(String(reference)),
  ),
  "life.other-spellings: Another spelling of a used reference is refused with 409.": also(
    "life.spellings-distinct",
    confuses(folded),
  ),
  "life.webhooks-sent: The webhooks of payouts to Ghana are lost.": alone(
    drops((message) => isPayout(message) && recordIn(message)["country"] === "GH"),
  ),
  "life.webhooks-sent: A webhook to a URL of more than 1,024 characters is never sent.": drops(
    ({ url }) => url.length > 1024,
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
  "life.webhooks-true: A quotation mark is not escaped in a webhook.": rewrites((body) => body.replaceAll('\\"', '"')),
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
  "life.events-agree: The webhook of a failed payout has the event of a success.": rewrites((body) =>
    body.replace('"disbursement.failed"', '"disbursement.completed"'),
  ),
  "webhook.only-with-address: Webhooks are sent to their addresses in lower case.": changesUrl((url) =>
    url.toLowerCase(),
  ),
});

/** The check of checkout.optional-fields finishes checkouts, which are read again at the end. */
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
      const checkouts: Fields[] = [];
      return data("createCheckout", (checkout) => {
        checkouts.push(checkout);
        const { url, reference, merchantsReference } = (checkouts.length % 3 === 0 && checkouts.at(-2)) || checkout;
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
