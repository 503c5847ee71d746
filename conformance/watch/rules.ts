// What traffic can show, and the requirements that it then keeps or contradicts.
import { openapi } from "../contract/contract.ts";
import { isExact, type Kind } from "../history/history.ts";
import { linkOf, referencesOf } from "../steps/checkouts.ts";
import { textOf } from "../target/values.ts";
import { watches } from "../topics/answers/watches.ts";
import type { Call } from "./calls.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Ids = readonly RequirementId[];

const ofNotifiedFact: Ids = ["life.webhooks-true", "life.events-agree", "events.data-is-the-record"];

const ofPayouts = {
  // A second create with the merchant's reference; also at the same time as the first, or with other fields.
  repeated: ["create.duplicate-refused", "life.references-used"],
  raced: ["create.duplicate-race"],
  otherwise: ["create.duplicate-any-field"],
  // What no other payout may have: the service's reference, the id, the link to the payment page.
  reference: ["create.service-reference-unique", "life.payouts-apart"],
  id: ["life.payouts-apart"],
  url: [],
  // Verify finds the record, no record, or the record of this very reference.
  found: ["verify.found", "life.records-kept", "create.service-reference-verifies"],
  unknown: ["verify.unknown-404"],
  whole: ["access.whole-reference"],
  // What is stated stays so, and agrees with the create.
  kept: ["life.facts-kept"],
  final: ["life.final-status", "status.final-stays"],
  agrees: ["verify.agrees-with-create", "records.as-requested"],
  fee: ["verify.agrees-with-create", "fee.on-top"],
  recipient: ["verify.customer", "records.as-requested", "records.phone-digits"],
  address: ["verify.webhook-address", "records.as-requested", "addresses.kept"],
  // Webhooks are true, and sent once, in time and to the right address.
  notifiedFact: ofNotifiedFact,
  notifiedAmount: ["webhook.amount", ...ofNotifiedFact],
  notifiedEnd: ["webhook.truth", "life.ends-as-notified", "life.events-agree"],
  notifiedOnce: ["events.once"],
  notifiedAddress: ["life.webhooks-addressed", "webhook.only-with-address"],
  notifiedSuccess: ["webhook.disbursement-success", "life.webhooks-sent"],
  notifiedFailure: ["webhook.disbursement-failure", "life.webhooks-sent"],
} as const satisfies Record<string, Ids>;

export type Event = keyof typeof ofPayouts;

const ofCheckouts: { readonly [event in Event]?: Ids } = {
  repeated: ["checkout-request.reference-unique"],
  reference: ["checkout.reference", "life.checkouts-apart"],
  id: ["life.checkouts-apart"],
  url: ["checkout.links-differ", "life.checkouts-apart"],
  found: ["life.checkouts-kept"],
  unknown: ["checkout-record.unknown-404"],
  whole: ["access.whole-reference"],
  kept: ["life.checkouts-kept"],
  final: ["life.checkouts-kept", "checkout-states.final"],
  agrees: ["checkout-record.agrees"],
  address: ["checkout-record.agrees"],
  notifiedFact: ofNotifiedFact,
  notifiedAmount: ["webhook.amount", ...ofNotifiedFact],
  notifiedEnd: ["life.events-agree"],
  notifiedOnce: ["events.once"],
  notifiedAddress: ["life.webhooks-addressed"],
  notifiedSuccess: ["webhook.checkout-outcome", "life.checkout-events-sent"],
  notifiedFailure: ["webhook.checkout-outcome", "life.checkout-events-sent"],
};

const ofKinds: Record<Kind, { readonly [event in Event]?: Ids }> = { disbursement: ofPayouts, checkout: ofCheckouts };
const ofNothing: Ids = [];

/** Returns the requirements about what several exchanges and webhooks show together of a payout or checkout. */
export const idsOf = (kind: Kind, event: Event): Ids => ofKinds[kind][event] ?? ofNothing;

/** What a request meets without a key, and with a wrong key. */
export const keyRules: Record<string, { missing: Ids; wrong?: Ids }> = {
  createDisbursement: { missing: ["auth.create-needs-key"], wrong: ["auth.create-refuses-wrong-key"] },
  verifyDisbursement: {
    missing: ["auth.verify-needs-key", "auth.record-hidden-without-key"],
    wrong: ["auth.verify-refuses-wrong-key"],
  },
  createCheckout: { missing: ["auth.checkout-needs-key"], wrong: ["auth.checkout-refuses-wrong-key"] },
  verifyCheckout: { missing: ["checkout-record.needs-key"] },
  listDisbursements: { missing: ["lists.needs-key"] },
  listCheckouts: { missing: ["lists.needs-key"] },
};

const hasStatusOf = (schema: string) => {
  const known = openapi.components.schemas[schema]!["enum"] as unknown[];
  return ({ data: { status } }: Call) => status === undefined || known.includes(status);
};
const isTimestamp = (value: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(textOf(value));

/** The schemas of successful responses that no rule for every response of a run judges. */
export const shapeRules: Record<string, RequirementId> = {
  createCheckout: "checkout-body.shape",
  verifyCheckout: "checkout-record.shape",
};

/** What a valid request that was accepted must get. */
export const responseRules: Record<string, [id: RequirementId, isTrue: (call: Call) => boolean][]> = {
  createDisbursement: [
    ["create.accepted", ({ status }) => status === 200],
    ["create.status-known", hasStatusOf("DisbursementStatus")],
    ["create.amount-echoed", ({ sent: { amount }, data }) => data["amount"] === amount || !isExact(amount)],
    [
      "create.reference-echoed",
      ({ sent: { reference }, data }) => data["merchantsReference"] === reference || !isExact(reference),
    ],
  ],
  verifyDisbursement: [
    ["verify.found", ({ status }) => status === 200],
    ["verify.status-known", hasStatusOf("DisbursementStatus")],
    ["verify.timestamps", ({ data }) => [data["createdAt"], data["updatedAt"]].every(isTimestamp)],
  ],
  createCheckout: [
    ["checkout.link", ({ response, sent }) => linkOf(response, Object.values(sent).map(textOf)) !== undefined],
    ["checkout.reference", ({ response }) => referencesOf(response).length > 0],
  ],
  verifyCheckout: [["checkout-states.outcomes", hasStatusOf("CheckoutStatus")]],
};

/** The requirements that traffic can show, of every profile. */
export const judgeable: ReadonlySet<string> = new Set<RequirementId>([
  ...watches.map(({ id }) => id),
  ...[ofPayouts, ofCheckouts].flatMap((events) => Object.values(events).flat()),
  ...Object.values(shapeRules),
  ...Object.values(keyRules).flatMap(({ missing, wrong = [] }) => [...missing, ...wrong]),
  ...Object.values(responseRules).flatMap((each) => each.map(([id]) => id)),
]);
