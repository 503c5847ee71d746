// What traffic can show, and the requirements that it then keeps or contradicts.
import { openapi } from "../contract/contract.ts";
import { isExact, type Kind } from "../history/history.ts";
import { linkOf, referencesOf } from "../steps/checkouts.ts";
import { textOf } from "../target/values.ts";
import { watches } from "../topics/answers/watches.ts";
import type { Call } from "./calls.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Ids = readonly RequirementId[];

/** What several exchanges and webhooks show together about a payout or checkout. */
type Event =
  /** A second create with the merchant's reference: later or at the same time, with the same fields or with others. */
  | `${"repeated" | "raced"}${"" | "Otherwise"}`
  /** A value that no other record may have: the service's reference, the id, the link to the payment page. */
  | "reference"
  | "id"
  | "url"
  /** What verify finds: the record, no record, the record of this very reference. */
  | "found"
  | "unknown"
  | "whole"
  /** Facts that stay; that agree with the create, by field; a final status that stays. */
  | "kept"
  | `agrees${"" | "InFee" | "InRecipient" | "InAddress"}`
  | "final"
  /** What webhooks say, how often, at which address, and whether they came. */
  | `notified${"Fact" | "Amount" | "End" | "Once" | "Address" | "Success" | "Failure"}`;

const notifiedFact: Ids = ["life.webhooks-true", "life.events-agree", "events.data-is-the-record"];
const usedTwice: Ids = ["create.duplicate-refused", "life.references-used"];

export const rules: Record<Kind, Record<Event, Ids>> = {
  disbursement: {
    repeated: usedTwice,
    repeatedOtherwise: [...usedTwice, "create.duplicate-any-field"],
    raced: ["create.duplicate-race"],
    racedOtherwise: ["create.duplicate-race-any-field"],
    reference: ["create.service-reference-unique", "life.payouts-apart"],
    id: ["life.payouts-apart"],
    url: [],
    found: ["verify.found", "life.records-kept", "create.service-reference-verifies"],
    unknown: ["verify.unknown-404"],
    whole: ["access.whole-reference"],
    kept: ["life.facts-kept"],
    agrees: ["verify.agrees-with-create", "records.as-requested"],
    agreesInFee: ["verify.agrees-with-create", "fee.on-top"],
    agreesInRecipient: ["verify.customer", "records.as-requested", "records.phone-digits"],
    agreesInAddress: ["verify.webhook-address", "records.as-requested", "addresses.kept"],
    final: ["life.final-status", "status.final-stays"],
    notifiedFact,
    notifiedAmount: ["webhook.amount", ...notifiedFact],
    notifiedEnd: ["webhook.truth", "life.ends-as-notified", "life.events-agree"],
    notifiedOnce: ["events.once"],
    notifiedAddress: ["life.webhooks-addressed", "webhook.only-with-address"],
    notifiedSuccess: ["webhook.disbursement-success", "life.webhooks-sent"],
    notifiedFailure: ["webhook.disbursement-failure", "life.webhooks-sent"],
  },
  checkout: {
    repeated: ["checkout-request.reference-unique"],
    repeatedOtherwise: ["checkout-request.reference-unique"],
    raced: ["checkout-request.reference-unique"],
    racedOtherwise: ["checkout-request.reference-unique"],
    reference: ["checkout.reference", "life.checkouts-apart"],
    id: ["life.checkouts-apart"],
    url: ["checkout.links-differ", "life.checkouts-apart"],
    found: ["life.checkouts-kept"],
    unknown: ["checkout-record.unknown-404"],
    whole: ["access.whole-reference"],
    kept: ["life.checkouts-kept"],
    agrees: ["checkout-record.agrees"],
    agreesInFee: ["checkout-record.agrees"],
    agreesInRecipient: ["checkout-record.agrees"],
    agreesInAddress: ["checkout-record.agrees"],
    final: ["life.checkouts-kept", "checkout-states.final"],
    notifiedFact,
    notifiedAmount: ["webhook.amount", ...notifiedFact],
    notifiedEnd: ["life.events-agree"],
    notifiedOnce: ["events.once"],
    notifiedAddress: ["life.webhooks-addressed"],
    notifiedSuccess: ["webhook.checkout-outcome", "life.checkout-events-sent"],
    notifiedFailure: ["webhook.checkout-outcome", "life.checkout-events-sent"],
  },
};

/** What a request meets without a key, and with a wrong key. */
export const keyRules: Record<string, { missing: Ids; wrong: Ids }> = {
  createDisbursement: { missing: ["auth.create-needs-key"], wrong: ["auth.create-refuses-wrong-key"] },
  verifyDisbursement: {
    missing: ["auth.verify-needs-key", "auth.record-hidden-without-key"],
    wrong: ["auth.verify-refuses-wrong-key"],
  },
  createCheckout: { missing: ["auth.checkout-needs-key"], wrong: ["auth.checkout-refuses-wrong-key"] },
  verifyCheckout: { missing: ["checkout-record.needs-key"], wrong: [] },
  listDisbursements: { missing: ["lists.needs-key"], wrong: [] },
  listCheckouts: { missing: ["lists.needs-key"], wrong: [] },
};

/** The fields without which a create must be refused. */
export const requiredFields: Record<string, Record<string, RequirementId>> = {
  createDisbursement: {
    reference: "create.reference-required",
    amount: "create.amount-required",
    phoneNumber: "create.phone-required",
    country: "create.country-required",
    currency: "create.currency-required",
  },
  createCheckout: {
    amount: "checkout.amount-required",
    country: "checkout.country-required",
    currency: "checkout.currency-required",
  },
};

const hasStatusOf = (schema: string) => {
  const known = openapi.components.schemas[schema]!["enum"] as unknown[];
  return ({ data: { status } }: Call) => (status === undefined ? undefined : known.includes(status));
};
const isTimestamp = (value: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(textOf(value));

/** What a valid request that was accepted must get; undefined if the response does not say it. */
export const responseRules: Record<string, [id: RequirementId, isTrue: (call: Call) => boolean | undefined][]> = {
  createDisbursement: [
    ["create.accepted", ({ status }) => status === 200],
    ["create.status-known", hasStatusOf("DisbursementStatus")],
    ["create.amount-echoed", ({ sent: { amount }, data }) => (isExact(amount) ? data["amount"] === amount : undefined)],
    [
      "create.reference-echoed",
      ({ sent: { reference }, data }) => (isExact(reference) ? data["merchantsReference"] === reference : undefined),
    ],
  ],
  verifyDisbursement: [
    ["verify.found", ({ status }) => status === 200],
    ["verify.status-known", hasStatusOf("DisbursementStatus")],
    ["verify.timestamps", ({ data }) => [data["createdAt"], data["updatedAt"]].every(isTimestamp)],
  ],
  createCheckout: [
    ["checkout.link", ({ response, sent }) => linkOf(response!, Object.values(sent).map(textOf)) !== undefined],
    ["checkout.reference", ({ response }) => referencesOf(response!).length > 0],
  ],
  verifyCheckout: [["checkout-states.outcomes", hasStatusOf("CheckoutStatus")]],
};

/** The requirements that traffic can show, of every profile. */
export const judgeable: ReadonlySet<string> = new Set<RequirementId>([
  ...watches.map(({ id }) => id),
  ...Object.values(rules).flatMap((events) => Object.values(events).flat()),
  ...Object.values(keyRules).flatMap(({ missing, wrong }) => [...missing, ...wrong]),
  ...Object.values(requiredFields).flatMap((ids) => Object.values(ids)),
  ...Object.values(responseRules).flatMap((each) => each.map(([id]) => id)),
]);
