// Faults derived from the contract's schemas: a response or an event in which a field is missing or has another type,
// and a request that is accepted although a field is missing, has another type or is out of its bounds.
import type { RequirementId } from "../../generated/requirement-ids.ts";
import { openapi, type Schema } from "../contract/contract.ts";
import { accepts, data } from "./changes.ts";
import { without, type Operation, type Fields } from "./calls.ts";
import { forEach, through, type Faults, type How } from "./fault.ts";
import { changesRecord } from "./webhooks.ts";

const { schemas } = openapi.components;
const resolved = (schema: Schema = {}): Schema => {
  const { $ref, oneOf } = schema;
  if ($ref !== undefined)
    return { ...resolved(schemas[$ref.split("/").at(-1)!]), ...schema, $ref: undefined } as Schema;
  return oneOf ? resolved(oneOf[0]) : schema;
};

/** Optional fields that the suite sends, so that the record must show them. */
const given = new Set(["webhookURL", "redirectURL"]);

/** Returns the paths of all fields that a response must have. A path through a list stands for each item. */
function fieldsOf(schema: Schema, depth = 0): string[] {
  const { properties = {}, required = [], items } = resolved(schema);
  if (items) return fieldsOf(items, depth);
  return Object.entries(properties)
    .filter(([name]) => required.includes(name) || given.has(name))
    .flatMap(([name, field]) => [
      name,
      ...(depth < 2 ? fieldsOf(field, depth + 1).map((inner) => `${name}.${inner}`) : []),
    ]);
}

/** Replaces the value at a path. If `change` returns undefined, JSON.stringify omits the field. */
function replaced(within: unknown, path: string, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(within)) return within.map((entry) => replaced(entry, path, change));
  const [name = "", ...rest] = path.split(".");
  const fields = within as Fields;
  const inner = fields[name];
  if (inner === undefined) return fields;
  return { ...fields, [name]: rest.length > 0 ? replaced(inner, rest.join("."), change) : change(inner) };
}
const ofAnotherType = (value: unknown) => (typeof value === "string" ? 7 : JSON.stringify(value));

/** For each response, the requirements about its shape, whose checks provoke it, and about a missing `given` field. */
const responses: [
  operation: Operation,
  schema: string,
  shape: RequirementId,
  provokedBy: RequirementId,
  absent?: RequirementId,
][] = [
  ["createDisbursement", "DisbursementCreated", "create.result-shape", "create.accepted"],
  ["verifyDisbursement", "Disbursement", "verify.record-shape", "verify.webhook-address", "verify.webhook-address"],
  ["createCheckout", "CheckoutCreated", "checkout-body.shape", "checkout-body.shape"],
  ["verifyCheckout", "Checkout", "checkout-record.shape", "checkout-record.shape", "checkout-record.agrees"],
  ["readClock", "Clock", "answers.exact", "sandbox.clock"],
  ["readWebhookSecret", "WebhookSecret", "answers.exact", "signature.rotation"],
  ["listEvents", "SandboxEventList", "answers.exact", "sandbox.events"],
  ["listDeliveries", "DeliveryList", "answers.exact", "sandbox.deliveries"],
];

const ofResponses = responses.flatMap(([operation, schema, shape, provokedBy, absent]) =>
  fieldsOf(schemas[schema]!).flatMap((field): Faults[] => {
    const changes = (change: (value: unknown) => unknown) => data(operation, (body) => replaced(body, field, change));
    const lacks = changes(() => undefined);
    const [id, by] = absent !== undefined && given.has(field) ? [absent, absent] : [shape, provokedBy];
    return [
      { [`${id}: ${operation} leaves ${field} out.`]: through(by, lacks) },
      { [`${shape}: ${operation} returns ${field} with another type.`]: through(provokedBy, changes(ofAnotherType)) },
    ];
  }),
);

const ofEvents: Faults = forEach(resolved(schemas["Disbursement"]).required ?? [], (field) => [
  `events.data-is-the-record: An event's data has no ${field}.`,
  changesRecord((record) => without(record, field)),
]);

/** A valid value of each required field of a request. An optional field is left out instead. */
const valid: Record<string, () => unknown> = {
  reference: () => crypto.randomUUID(),
  amount: () => 1,
  phoneNumber: () => "2257038102473",
  country: () => "CI",
  currency: () => "XOF",
};
const typeOf = (value: unknown) =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;

/** For each keyword, the test for values that break it; undefined if the schema does not use the keyword. */
const keywords: Record<string, (schema: Schema, isRequired: boolean) => ((value: unknown) => boolean) | undefined> = {
  required: (_, isRequired) => (isRequired ? (value) => value === undefined : undefined),
  type:
    ({ type }) =>
    (value) =>
      value !== undefined && typeOf(value) !== type,
  minimum: ({ minimum }) => (minimum === undefined ? undefined : (value) => Number(value) < Number(minimum)),
  pattern({ pattern, format }) {
    if (typeof pattern !== "string" || format === "uri") return undefined;
    const regexp = new RegExp(pattern, "u");
    return (value) => typeof value === "string" && !regexp.test(value);
  },
  format: ({ format }) => (format === "uri" ? (value) => typeof value === "string" && !URL.canParse(value) : undefined),
};

/** `idFor` returns the requirement about a keyword of a field; undefined if a topic has its own fault for it. */
const requests: [
  operation: Operation,
  schema: string,
  idFor: (field: string, keyword: string) => string | undefined,
][] = [
  [
    "createDisbursement",
    "DisbursementRequest",
    (field, keyword) => {
      if (field === "reference" && keyword === "pattern") return undefined;
      return `create.${{ phoneNumber: "phone", webhookURL: "webhook" }[field] ?? field}-${keyword}`;
    },
  ],
  [
    "createCheckout",
    "CheckoutRequest",
    (field, keyword) => {
      if (keyword === "required") return `checkout.${field}-required`;
      if (keyword === "type") return field === "reference" || field === "locale" ? undefined : "checkout.types";
      if (keyword === "minimum") return "checkout-request.amount";
      if (keyword === "pattern" && field !== "reference") return "checkout-request.patterns";
      return undefined;
    },
  ],
];

const ofRequests = requests.flatMap(([operation, schema, idFor]) => {
  const { properties = {}, required = [] } = resolved(schemas[schema]);
  return Object.entries(properties).flatMap(([field, property]) =>
    Object.entries(keywords).flatMap(([keyword, broken]): Faults[] => {
      const isInvalid = broken(resolved(property), required.includes(field));
      const id = idFor(field, keyword);
      if (!isInvalid || id === undefined) return [];
      const accepted: How = accepts(operation, field, isInvalid, valid[field]);
      return [{ [`${id}: ${operation} accepts any ${field} that breaks "${keyword}".`]: accepted }];
    }),
  );
});

export const contractFaults: readonly Faults[] = [...ofResponses, ofEvents, ...ofRequests];
