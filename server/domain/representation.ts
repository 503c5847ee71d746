import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { WebhookSecrets } from "./keys.ts";
import type { Page } from "./pages.ts";
import { kindOf, type Checkout, type Customer, type Failure, type Payment } from "./records.ts";

type Schemas = components["schemas"];

/** Converts records to the form that responses and webhooks contain. A field that was not given is left out (D7a). */

export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

interface Schema {
  $ref?: string;
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}
const schemas = document.components.schemas as Record<string, Schema>;

/**
 * Returns a function that converts a value to what a schema declares: these fields and no others, and times, which are
 * numbers, as timestamps.
 */
function declaredBy({ $ref, format, properties, items }: Schema): (value: unknown) => unknown {
  if ($ref !== undefined) return declaredBy(schemas[$ref.split("/").at(-1)!]!);
  if (format === "date-time") return (value) => (typeof value === "number" ? timestamp(value) : value);
  if (items) {
    const show = declaredBy(items);
    return (value) => (value as unknown[]).map(show);
  }
  if (!properties) return (value) => value;
  const fields = Object.entries(properties).map(([name, schema]) => [name, declaredBy(schema)] as const);
  return (value) => {
    const shown: Record<string, unknown> = {};
    for (const [name, show] of fields) {
      const field = (value as Record<string, unknown>)[name];
      if (field !== undefined) shown[name] = show(field);
    }
    return shown;
  };
}
const SHOWN = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, declaredBy(schema)]));

/** Returns what the contract declares of an object. A field more needs no code here, and none in the storage. */
export const view = <Name extends keyof Schemas>(name: Name, object: object): Schemas[Name] =>
  SHOWN[name]!(object) as Schemas[Name];

/** The response to verifying a payment (§2.3, D6). */
export const paymentView = <T extends Payment>(record: T, merchantName: string) =>
  view(kindOf(record) === "checkout" ? "Checkout" : "Disbursement", {
    ...record,
    userId: record.merchantId,
    merchant: { name: merchantName },
    customer: record.customer && customerView(record.customer),
    failure: failureIn(record),
  }) as T extends Checkout ? Schemas["Checkout"] : Schemas["Disbursement"];

export const eventView = (event: { body: string }) => view("SandboxEvent", { ...event, body: JSON.parse(event.body) });
export const deliveryView = (delivery: { type: string }) => view("Delivery", { ...delivery, event: delivery.type });
export const secretView = ({ current, previous }: WebhookSecrets) =>
  view("WebhookSecret", { secret: current, previousSecrets: previous });

/** A page of any list (D42). */
export const listView = <T, V>(
  { items, cursor }: Page<T>,
  show: (item: T) => V,
): { items: V[]; nextCursor?: string } => ({
  items: items.map(show),
  ...(cursor !== undefined && { nextCursor: cursor }),
});

/** The optional fields that pages and exports show in words of their own, or not at all because they may contain secrets. */
const IN_WORDS = new Set(["customer", "failure", "webhookURL", "redirectURL"]);

/** The optional fields that pages and exports show by their names in the contract. */
export function fieldsByName(kind: "disbursements" | "checkouts"): string[] {
  const { properties, required } = document.components.schemas[kind === "checkouts" ? "Checkout" : "Disbursement"];
  return Object.keys(properties).filter((field) => !required.includes(field) && !IN_WORDS.has(field));
}

/** The value of an optional field, if the record has it. */
export const fieldOf = (record: Payment, field: string): unknown =>
  (record as unknown as Record<string, unknown>)[field];

/** Why a payment failed, if it has failed. The reason can be known before the record is final. */
export const failureIn = ({ status, failure }: Payment): Failure | undefined =>
  status === "failed" ? failure : undefined;

/** Requests contain no customer name, so the name is made from the last four digits of the number (D19). */
export function customerView({ id, phoneNumber }: Customer): Schemas["Customer"] {
  return { id, name: `Customer ${phoneNumber.slice(-4)}`, phoneNumber };
}

/** Returns a row as a line of comma-separated values (RFC 4180), as spreadsheet programs read it. */
export const csvLine = (values: readonly (string | number)[]): string => `${values.map(cell).join(",")}\r\n`;

/**
 * Spreadsheet programs treat a text that begins with one of these characters as a formula, which could send data away; a
 * leading apostrophe prevents this. In some languages a semicolon or a tab begins a new cell.
 */
function cell(text: string | number): string {
  if (typeof text === "number") return String(text);
  const safe = text.replace(/(^|[;\t\r\n])(?=\s*[=+\-@＝＋－＠\t\r\n])/g, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
