// Servers whose fault the contract's schemas can say: a response or an event that lacks a field or has it with another
// type, and a request that is accepted although one of its fields is missing, of another type or out of its bounds.
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

/** Optional fields that every record of the suite shows, if it was given them. */
const given = new Set(["webhookURL", "redirectURL"]);

/** Returns the paths of all fields that a response must have. Where a path leads through a list, it means each entry. */
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

/** The responses, each with the requirement about its shape, and the requirement whose checks provoke it. */
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

/** A value that each field of a request may have; an optional field may be left out. */
const valid: Record<string, () => unknown> = {
  reference: () => crypto.randomUUID(),
  amount: () => 1,
  phoneNumber: () => "2257038102473",
  country: () => "CI",
  currency: () => "XOF",
};
const typeOf = (value: unknown) =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;

/** The ways in which a value breaks each keyword of its schema. */
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

/** The requirement about a keyword of a field. A field or keyword without an entry has a requirement of its own topic. */
const requests: [
  operation: Operation,
  schema: string,
  judges: (field: string, keyword: string) => string | undefined,
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

const ofRequests = requests.flatMap(([operation, schema, judges]) => {
  const { properties = {}, required = [] } = resolved(schemas[schema]);
  return Object.entries(properties).flatMap(([field, property]) =>
    Object.entries(keywords).flatMap(([keyword, broken]): Faults[] => {
      const isInvalid = broken(resolved(property), required.includes(field));
      const id = judges(field, keyword);
      if (!isInvalid || id === undefined) return [];
      const accepted: How = accepts(operation, field, isInvalid, valid[field] ?? (() => undefined));
      return [{ [`${id}: ${operation} accepts any ${field} that breaks "${keyword}".`]: accepted }];
    }),
  );
});

export const contractFaults: readonly Faults[] = [...ofResponses, ofEvents, ...ofRequests];
