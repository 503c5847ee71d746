// Servers with a fault in one response field: the field is missing, has the wrong type or has the wrong value.
import { fault, type Fault } from "../fault.ts";
import { createCheckout, createDisbursement, data, verifyCheckout, verifyDisbursement, type Fields } from "../ways.ts";

/**
 * Replaces the value at a path. Where the path leads through an array, replaces it in every entry. If `change` returns
 * undefined, JSON.stringify omits the field.
 */
function replaced(within: unknown, path: string, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(within)) return within.map((each) => replaced(each, path, change));
  const [name = "", ...rest] = path.split(".");
  const fields = within as Fields;
  const inner = fields[name];
  if (inner === undefined) return fields;
  return { ...fields, [name]: rest.length > 0 ? replaced(inner, rest.join("."), change) : change(inner) };
}

/** Turns a string into a number and anything else into a string. */
const otherType = (value: unknown) => (typeof value === "string" ? 7 : JSON.stringify(value));
const otherValue = (value: unknown) =>
  typeof value === "number" ? value + 1 : typeof value === "string" && /^https?:/.test(value) ? `${value}/x` : "other";

type TargetResponse = {
  /** The name of the response in fault ids and descriptions. */
  name: string;
  operation: string;
  fields: readonly string[];
  /** The id of the requirement that defines the shape of the response. */
  shape: string;
  /** For each field, the id of the requirement that another value of the right type violates. */
  values?: Readonly<Record<string, string>>;
  /**
   * The fields that the schema does not require, each with the id of the requirement that says when it must be present.
   */
  optional?: Readonly<Record<string, string>>;
  /** The id of the requirement whose checks provoke this response (see `Fault.through`). */
  through?: string;
};

export const record = [
  "id",
  "userId",
  "merchant",
  "merchant.name",
  "country",
  "currency",
  "amount",
  "fee",
  "webhookURL",
  "reference",
  "merchantsReference",
  "status",
  "createdAt",
  "updatedAt",
];
const customer = ["customer", "customer.id", "customer.name", "customer.phoneNumber"];
const agreeing = ["reference", "merchantsReference", "amount", "fee", "country", "currency"];
const all = (fields: readonly string[], requirement: string) =>
  Object.fromEntries(fields.map((field) => [field, requirement]));

const responses: TargetResponse[] = [
  {
    name: "created",
    through: "create.accepted",
    operation: createDisbursement,
    fields: ["reference", "merchantsReference", "amount", "fee", "status"],
    shape: "create.result-shape",
    values: {
      amount: "create.amount-echoed",
      merchantsReference: "create.reference-echoed",
      reference: "create.service-reference-verifies",
      status: "create.status-known",
      fee: "verify.agrees-with-create",
    },
  },
  {
    name: "verified",
    through: "verify.webhook-address",
    operation: verifyDisbursement,
    fields: [...record, ...customer],
    shape: "verify.record-shape",
    values: {
      ...all(agreeing, "verify.agrees-with-create"),
      status: "verify.status-known",
      webhookURL: "verify.webhook-address",
      "customer.phoneNumber": "verify.customer",
      createdAt: "verify.timestamps",
      updatedAt: "verify.timestamps",
    },
    optional: { webhookURL: "verify.webhook-address" },
  },
  {
    name: "checkout-created",
    operation: createCheckout,
    fields: ["url", "reference", "merchantsReference", "amount", "fee", "status"],
    shape: "checkout-body.shape",
    values: {
      amount: "checkout-body.echo",
      merchantsReference: "checkout-body.echo",
      reference: "checkout-record.agrees",
      fee: "checkout-record.agrees",
      status: "checkout-body.shape",
      url: "checkout.link-opens",
    },
  },
  {
    name: "checkout-record",
    operation: verifyCheckout,
    fields: [...record, "redirectURL"],
    shape: "checkout-record.shape",
    values: all([...agreeing, "webhookURL", "redirectURL", "status"], "checkout-record.agrees"),
    optional: { webhookURL: "checkout-record.agrees", redirectURL: "checkout-record.agrees" },
  },
  { name: "clock", operation: "readClock", fields: ["now"], shape: "answers.exact", through: "sandbox.clock" },
  {
    name: "secret",
    operation: "readWebhookSecret",
    fields: ["secret", "previousSecrets"],
    shape: "answers.exact",
    through: "signature.verifies",
  },
  {
    name: "listed-event",
    operation: "listEvents",
    fields: [
      "items",
      ...["id", "createdAt", "reference", "body", "body.event", "body.data"].map((field) => `items.${field}`),
    ],
    shape: "answers.exact",
    through: "sandbox.events",
  },
  {
    name: "listed-delivery",
    operation: "listDeliveries",
    fields: [
      "items",
      ...["id", "event", "reference", "url", "status", "createdAt", "attempts"].map((field) => `items.${field}`),
      ...["number", "at", "sentAt", "latencyMs"].map((field) => `items.attempts.${field}`),
    ],
    shape: "answers.exact",
    through: "sandbox.deliveries",
  },
];

function faultsOf({ name, operation, fields, shape, values = {}, optional = {}, through }: TargetResponse): Fault[] {
  const put = (field: string, to: (value: unknown) => unknown) => data(operation, (each) => replaced(each, field, to));
  return fields.flatMap((field) => {
    const id = `${name}-${field.replaceAll(".", "-")}`;
    const where = `${field} (${name})`;
    const gone = () => put(field, () => undefined);
    const wrong = values[field];
    return [
      fault(`${id}-missing`, `${where} is missing.`, optional[field] ?? shape, gone, through),
      fault(`${id}-type`, `${where} has the wrong type.`, shape, () => put(field, otherType), through),
      ...(wrong ? [fault(`${id}-value`, `${where} has the wrong value.`, wrong, () => put(field, otherValue))] : []),
    ];
  });
}

export const faults: readonly Fault[] = responses.flatMap(faultsOf);
