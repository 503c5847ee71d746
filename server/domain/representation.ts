import document from "../../generated/openapi.json" with { type: "json" };
import type { components } from "../../generated/openapi.ts";
import type { Checkout } from "./checkouts.ts";
import type { Disbursement } from "./disbursements.ts";
import type { Failure, Customer } from "./records.ts";

type Schemas = components["schemas"];

/** Converts records to the form that responses and webhooks contain. A field that was not given is left out (D7a). */

export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** The optional fields that are shown in another form than they are stored in. */
const CONVERTED = new Set(["customer", "failure"]);

/**
 * The optional fields of a record that the contract declares, and that are shown as they are stored. A field more needs
 * no code here, and none in the storage.
 */
const OPTIONAL = { disbursements: optionalFields("Disbursement"), checkouts: optionalFields("Checkout") };

function optionalFields(name: "Disbursement" | "Checkout"): string[] {
  const { properties, required } = document.components.schemas[name];
  return Object.keys(properties).filter((field) => !required.includes(field) && !CONVERTED.has(field));
}

/** Addresses have words of their own on pages, and are left out of exports because they may contain secrets. */
const ADDRESSES = new Set(["webhookURL", "redirectURL"]);

/** The optional fields that pages and exports show by their names in the contract. */
export const fieldsByName = (kind: keyof typeof OPTIONAL): string[] =>
  OPTIONAL[kind].filter((field) => !ADDRESSES.has(field));

/** The value of an optional field, if the record has it. */
export const fieldOf = (record: Disbursement | Checkout, field: string): unknown =>
  (record as unknown as Record<string, unknown>)[field];

/** The response to verifying a disbursement (§2.3). */
export function disbursementView(record: Disbursement, merchantName: string): Schemas["Disbursement"] {
  const { customer, status } = record;
  return { ...recordView(record, merchantName, OPTIONAL.disbursements), customer: customerView(customer), status };
}

/** The response to verifying a checkout (D6). */
export function checkoutView(record: Checkout, merchantName: string): Schemas["Checkout"] {
  const { customer, status } = record;
  return {
    ...recordView(record, merchantName, OPTIONAL.checkouts),
    ...(customer === undefined ? {} : { customer: customerView(customer) }),
    status,
  };
}

function recordView(record: Disbursement | Checkout, merchantName: string, optional: readonly string[]) {
  const failure = failureIn(record);
  const { id, merchantId: userId, country, currency, amount, fee, reference, merchantsReference } = record;
  const given: Record<string, unknown> = {};
  for (const field of optional) {
    const value = fieldOf(record, field);
    if (value !== undefined) given[field] = value;
  }
  return {
    id,
    userId,
    merchant: { name: merchantName },
    country,
    currency,
    amount,
    fee,
    ...given,
    reference,
    merchantsReference,
    ...(failure === undefined ? {} : { failure }),
    createdAt: timestamp(record.createdAt),
    updatedAt: timestamp(record.updatedAt),
  };
}

/** Why a payment failed, if it has failed. The reason can be known before the record is final. */
export const failureIn = ({ status, failure }: Disbursement | Checkout): Failure | undefined =>
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
