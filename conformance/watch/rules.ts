// What traffic can show, and the requirements that it then keeps or contradicts.
import { openapi } from "../contract/contract.ts";
import { createValidators } from "../contract/validate.ts";
import { type Fields, isExact, isFinal, type Kind } from "../history/history.ts";
import { linkOf, referencesOf } from "../steps/checkouts.ts";
import { textOf } from "../target/values.ts";
import { watches } from "../topics/answers/watches.ts";
import { bitsIn, uuid7 } from "../topics/references/checks.ts";
import { type Call, fieldsIn, isObject } from "./calls.ts";
import type { Webhook } from "./traffic.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Ids = readonly RequirementId[];

const ofNotifiedFact: Ids = ["life.webhooks-true", "life.events-agree", "events.data-is-the-record"];

const ofPayouts = {
  // A second create with the merchant's reference; also at the same time as the first, or with other fields.
  repeated: ["create.duplicate-refused", "life.references-used"],
  raced: ["create.duplicate-race"],
  otherwise: ["create.duplicate-any-field"],
  located: ["recovery.location", "recovery.lost-answer"],
  // What no other payout may have: the service's reference, the id, the link to the payment page.
  reference: ["create.service-reference-unique", "life.payouts-apart"],
  id: ["life.payouts-apart"],
  url: [],
  // Verify finds the record, no record, or the record of this very reference.
  found: ["verify.found", "life.records-kept", "create.service-reference-verifies"],
  unknown: ["verify.unknown-404"],
  whole: ["access.whole-reference"],
  // A key shows records of its own merchant only.
  own: ["uniqueness.merchants-apart", "access.merchants-apart-after-owner"],
  listed: ["lists.merchants-apart"],
  // A list of its reference lacks a record that was shown before.
  unlisted: ["lists.every-status"],
  // One recipient is one customer of a merchant.
  customer: ["references.customer"],
  // What is stated stays so, and agrees with the create.
  kept: ["life.facts-kept"],
  final: ["life.final-status", "status.final-stays", "status.settles"],
  // What a record states of its end.
  endedAt: ["status.updated-at-moves"],
  failure: ["failure.same-everywhere"],
  agrees: ["verify.agrees-with-create", "records.as-requested"],
  fee: ["verify.agrees-with-create", "fee.on-top"],
  recipient: ["verify.customer", "records.as-requested", "records.phone-digits"],
  address: ["verify.webhook-address", "records.as-requested", "addresses.kept"],
  // Webhooks are true, and sent once, in time and to the right address.
  notifiedFact: ofNotifiedFact,
  notifiedAmount: ["webhook.amount", ...ofNotifiedFact],
  notifiedEnd: ["webhook.truth", "life.ends-as-notified", "life.events-agree", "status.settles"],
  notifiedOnce: ["events.once"],
  notifiedAgain: ["retries.after-failure"],
  notifiedAddress: ["life.webhooks-addressed", "webhook.only-with-address"],
  notifiedSuccess: ["webhook.disbursement-success", "life.webhooks-sent"],
  notifiedFailure: ["webhook.disbursement-failure", "life.webhooks-sent"],
} as const satisfies Record<string, Ids>;

export type Event = keyof typeof ofPayouts;

const ofCheckouts: { readonly [event in Event]?: Ids } = {
  repeated: ["checkout-request.reference-unique"],
  located: ["checkout-request.reference-unique"],
  reference: ["checkout.reference", "life.checkouts-apart"],
  id: ["life.checkouts-apart"],
  url: ["checkout.links-differ", "life.checkouts-apart"],
  found: ["life.checkouts-kept", "checkout-record.shape"],
  unknown: ["checkout-record.unknown-404"],
  whole: ["access.whole-reference"],
  own: ["uniqueness.merchants-apart", "access.merchants-apart-after-owner"],
  listed: ["lists.merchants-apart"],
  kept: ["life.checkouts-kept"],
  final: ["life.checkouts-kept", "checkout-states.final"],
  endedAt: ["checkout-states.updated-at"],
  agrees: ["checkout-record.agrees"],
  fee: ["checkout-record.agrees"],
  address: ["checkout-record.agrees"],
  notifiedFact: ofNotifiedFact,
  notifiedAmount: ["webhook.amount", ...ofNotifiedFact],
  notifiedEnd: ["life.events-agree"],
  notifiedOnce: ["events.once"],
  notifiedAgain: ["retries.after-failure"],
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
const hasReferenceOfForm = ({ data: { reference } }: Call) =>
  /^(DSB|CHK)/.test(textOf(reference)) && bitsIn(textOf(reference)) >= 80;
const hasId7: [id: RequirementId, isTrue: (call: Call) => boolean] = [
  "references.record-ids",
  ({ data: { id } }) => uuid7.test(textOf(id)),
];
const isTimestamp = (value: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(textOf(value));

/** The schemas of successful responses that no rule for every response of a run judges. */
export const shapeRules: Record<string, RequirementId> = {
  createCheckout: "checkout-body.shape",
  verifyCheckout: "checkout-record.shape",
};

export const itemsOf = ({ data: { items } }: Call) => (Array.isArray(items) ? items.filter(isObject) : []);
export const timeOf = (item: Fields) => Date.parse(textOf(item["createdAt"]));
/** Which items of a list a filter lets through. */
const filters: Record<string, (item: Fields, value: string) => boolean> = {
  status: (item, value) => item["status"] === value,
  merchantsReference: (item, value) => item["merchantsReference"] === value,
  createdAfter: (item, value) => timeOf(item) >= Date.parse(value),
  createdBefore: (item, value) => timeOf(item) < Date.parse(value),
};
const listRules: [id: RequirementId, isTrue: (call: Call) => boolean][] = [
  [
    "lists.filters",
    (call) =>
      [...new URLSearchParams(call.path.split("?")[1])].every(([name, value]) =>
        itemsOf(call).every((item) => filters[name]?.(item, value) ?? true),
      ),
  ],
  [
    "lists.newest-first",
    (call) => itemsOf(call).every((item, at, items) => at === 0 || timeOf(item) <= timeOf(items[at - 1]!)),
  ],
];

/** What a valid request that was accepted must get. */
export const responseRules: Record<string, [id: RequirementId, isTrue: (call: Call) => boolean][]> = {
  createDisbursement: [
    ["create.accepted", ({ status }) => status === 200],
    ["create.status-known", hasStatusOf("DisbursementStatus")],
    ["references.form", hasReferenceOfForm],
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
    hasId7,
    ["addresses.left-out", ({ data }) => data["webhookURL"] !== null && data["webhookURL"] !== ""],
  ],
  createCheckout: [
    [
      "checkout-body.echo",
      ({ sent: { amount, reference }, data }) =>
        data["amount"] === amount && data["merchantsReference"] === (reference ?? data["reference"]),
    ],
    ["checkout.link", ({ response, sent }) => linkOf(response, Object.values(sent).map(textOf)) !== undefined],
    ["checkout.reference", ({ response }) => referencesOf(response).length > 0],
    ["references.form", hasReferenceOfForm],
  ],
  verifyCheckout: [["checkout-states.outcomes", hasStatusOf("CheckoutStatus")], hasId7],
  listDisbursements: [
    ...listRules,
    [
      "uniqueness.one-record",
      (call) => !new URLSearchParams(call.path.split("?")[1]).has("merchantsReference") || itemsOf(call).length <= 1,
    ],
  ],
  listCheckouts: listRules,
};

/** What is wrong with a webhook; "" if nothing is, and undefined if it is no case of the rule. */
type FaultOf = (webhook: Webhook, json: Fields) => string | undefined;

const headerForms = Object.entries({
  "webhook-id": /^msg_[\da-f]{32}$/,
  "webhook-timestamp": /^\d{10}$/,
  "webhook-signature": /^v1,[\w+/=]+( v1,[\w+/=]+)*$/,
});
/** A log may have a selection of the headers. */
const hasHeaders = ({ headers }: Webhook) => headers["host"] !== undefined;

/** What a timestamp may be off, in milliseconds: five minutes, and what clocks differ by. */
const mostOffMs = 360_000;

/** An event is named by its kind and how the payment ended. */
const endOf =
  (kind: Kind): FaultOf =>
  (_, { event, data }) => {
    const name = textOf(event);
    const status = textOf(fieldsIn(data)["status"]);
    if (!isFinal(status) || !name.startsWith(kind)) return undefined;
    return name === `${kind}.${status === "success" ? "completed" : status}` ? "" : `${name} with status ${status}`;
  };

/** What a webhook must be by this project's decisions. */
export const webhookRules: readonly [id: RequirementId, faultOf: FaultOf][] = [
  ["events.disbursement", endOf("disbursement")],
  ["events.checkout", endOf("checkout")],
  ["life.events-agree", endOf("disbursement")],
  ["life.events-agree", endOf("checkout")],
  [
    "events.data-is-the-record",
    (_, json) => {
      const words = textOf(json["event"]).split(".").concat("event");
      const schema = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
      return schema in openapi.components.schemas ? (createValidators("extended")(schema)(json)[0] ?? "") : undefined;
    },
  ],
  [
    "events.json",
    (webhook) => {
      const { "content-type": type = "missing" } = webhook.headers;
      return !hasHeaders(webhook) ? undefined : /^application\/json\b/i.test(type) ? "" : `Content-Type ${type}`;
    },
  ],
  [
    "signature.timestamp-real",
    ({ headers, sentAt }) => {
      const offMs = Math.abs(Number(headers["webhook-timestamp"]) * 1000 - sentAt);
      return offMs > mostOffMs ? `${offMs / 1000} s off` : Number.isNaN(offMs) ? undefined : "";
    },
  ],
  [
    "signature.headers",
    (webhook) =>
      hasHeaders(webhook)
        ? (headerForms.find(([name, form]) => !form.test(webhook.headers[name] ?? ""))?.[0] ?? "")
        : undefined,
  ],
];

/** The requirements that traffic can show, of every profile. */
export const judgeable: ReadonlySet<string> = new Set<RequirementId>([
  ...watches.map(({ id }) => id),
  "answers.request-id-own",
  "references.unguessable",
  "lists.pages",
  ...[ofPayouts, ofCheckouts].flatMap((events) => Object.values(events).flat()),
  ...Object.values(shapeRules),
  ...Object.values(keyRules).flatMap(({ missing, wrong = [] }) => [...missing, ...wrong]),
  ...[...Object.values(responseRules).flat(), ...webhookRules].map(([id]) => id),
]);
