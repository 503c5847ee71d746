import { createHmac } from "node:crypto";
import { nameOf } from "../domain/audit.ts";
import { ServiceError } from "../domain/errors.ts";
import { derivedReference } from "../domain/ids.ts";
import type { ApiKey, SecretHash } from "../domain/keys.ts";
import type { KeyOwner, Merchant } from "../domain/merchants.ts";
import { kindOf, type Customer, type Disbursement, type Draft } from "../domain/records.ts";
import type { Failure, Payment, PaymentKind, Plan } from "../domain/records.ts";
import { sandboxTime } from "../domain/time.ts";

/** A row of a query's result, by column. The schema decides the types of the values, which the compiler cannot know. */
export type Row = Readonly<Record<string, any>>;

/** Values to store, by column. */
export type Values = Record<string, string | number | bigint | Uint8Array | null>;

/** A merchant with what only the storage knows. */
export interface StoredMerchant extends Merchant {
  /** The ids of its customers are derived with this secret. A reset of the sandbox replaces it. */
  customerSecret: string;
}

/** Returns the value of a nullable column, or undefined for NULL. */
export function optional<T>(value: unknown): T | undefined {
  return value === null ? undefined : (value as T);
}

/** How columns of these names are read, if not as they are stored. */
const READ: Readonly<Record<string, (value: any) => unknown>> = {
  resetting: (value) => (value ? true : undefined),
  hash: (bytes) => Buffer.from(bytes).toString("hex"),
  scopes: (text) => text.split(","),
  enforced: Boolean,
  proposed_by: nameOf,
  ...Object.fromEntries(["available", "reserved", "balance"].map((name) => [name, Number])),
  ...Object.fromEntries(
    ["limits", "terms", "chaos", "filter", "details", "failure", "approval", "proposal"].map((name) => [
      name,
      JSON.parse,
    ]),
  ),
};

/** The field of a column: `merchantId` of `merchant_id`, `createdAt` of `created_real`, and `at` of `at_real`. */
const fieldOf = (column: string) =>
  column
    .replace("at_real", "at")
    .replace("_real", "_at")
    .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Returns a function that makes an object of columns of a row. A field whose column is NULL is absent.
 * @param names the columns; `merchant_state:state` if the field has another name than the column
 */
export function fields<T>(names: string): (row: Row) => T {
  const columns = names.split(" ").map((name) => {
    const [column = "", field = fieldOf(column)] = name.split(":");
    return { column, field, read: READ[column] };
  });
  return (row) => {
    const object: Record<string, unknown> = {};
    for (const { column, field, read } of columns) {
      const stored = row[column] ?? undefined;
      const value = stored === undefined || read === undefined ? stored : read(stored);
      if (value !== undefined) object[field] = value;
    }
    return object as T;
  };
}

const MERCHANT =
  "id name created_at clock_offset resetting:isResetting webhook_url merchant_state:state limits terms chaos";
export const toMerchant = fields<Merchant>(MERCHANT);
export const toStored = fields<StoredMerchant>(`${MERCHANT} customer_secret`);

/** Returns a merchant without what only the storage knows. */
export function toShown<T extends StoredMerchant>(stored: T): Omit<T, Exclude<keyof StoredMerchant, keyof Merchant>> {
  const { customerSecret: _, ...merchant } = stored;
  return merchant;
}

export const toKey = fields<ApiKey>("id merchant_id hash hint name scopes limits created_at used_real revoked_at");

/** Hashes are stored as bytes. */
export const bytesOf = (hash: SecretHash): Uint8Array => Buffer.from(hash, "hex");

const ownedKey = fields<Omit<KeyOwner, "merchant">>("key_id scopes");
export const toOwner = (row: Row): KeyOwner => ({ merchant: toMerchant(row), ...ownedKey(row) });

/** The error of a request whose key was revoked after its authentication. */
export const keyRevoked = () => new ServiceError("unauthorized", "This API key is not valid.");

const hmac = (secret: string, text: string): string => createHmac("sha256", secret).update(text).digest("hex");

/**
 * Returns a merchant's customer. Its id is a UUIDv7 with the time of the merchant's creation. Because of the merchant's
 * secret, the id does not reveal the phone number.
 */
export function customerOf(
  { id, createdAt, customerSecret }: Pick<StoredMerchant, "id" | "createdAt" | "customerSecret">,
  phoneNumber: string,
): Customer {
  const time = createdAt.toString(16).padStart(12, "0");
  const digits = hmac(customerSecret, `${id} ${phoneNumber}`);
  const start = `${time.slice(0, 8)}-${time.slice(8)}`;
  return { id: `${start}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`, phoneNumber };
}

/**
 * Returns the record that a draft becomes, dated with the merchant's current time. Its reference is also what a rail gets
 * (D73). That of a live payment is derived from the merchant's own reference. So if a restore or a failover has lost the
 * payment, and the merchant repeats it, the rail knows it.
 * @param merchant with the real time
 */
export function recorded<T extends Payment>(
  draft: Draft<T> & { customer?: Customer },
  merchant: StoredMerchant & { now: number },
): T {
  const { due, rail, mustBeCovered: _, keyId: __, madeBy: ___, refusal: ____, ...rest } = draft as Draft<Disbursement>;
  const { reference, merchantsReference, approval } = rest;
  const at = sandboxTime(merchant, merchant.now);
  const record = {
    ...rest,
    createdAt: at,
    updatedAt: at,
    ...(due && { due: { at: merchant.now + due.afterMs, status: due.status } }),
  };
  if (merchantsReference !== reference && (rail ?? approval?.plan.rail) !== undefined) {
    const prefix = kindOf(rest) === "checkout" ? "CHK" : "DSB";
    const digest = hmac(merchant.customerSecret, `${prefix} ${merchant.id} ${merchantsReference}`);
    record.reference = derivedReference(prefix, Buffer.from(digest, "hex"));
  }
  return record as unknown as T;
}

/** Returns the columns for when a record is due, and for its failure if it will fail then. @param now real time */
export const dueValues = ({ due, failure }: Plan, now: number) => ({
  due_at: due === undefined ? null : now + due.afterMs,
  due_status: due?.status ?? null,
  failure: failureValue(failure),
});

export const failureValue = (failure: Failure | undefined): string | null =>
  failure === undefined ? null : JSON.stringify(failure);

/** Returns the row of a record. What has no column of its own is in the column `details`. */
export function toValues(record: Payment) {
  const { id, merchantId, reference, merchantsReference, customer, amount, fee, currency, ...others } =
    record as Disbursement;
  const { status, createdAt, updatedAt, due, failure, approval, ...details } = others;
  return {
    id,
    merchant_id: merchantId,
    reference,
    merchants_reference: merchantsReference,
    customer_id: customer?.id ?? null,
    phone_number: customer?.phoneNumber ?? null,
    amount,
    fee,
    currency,
    details: JSON.stringify(details),
    status,
    created_at: createdAt,
    updated_at: updatedAt,
    due_at: due?.at ?? null,
    due_status: due?.status ?? null,
    failure: failureValue(failure),
    ...(kindOf(record) === "disbursement" && { approval: approval ? JSON.stringify(approval) : null }),
  } satisfies Values;
}

const columnsToRecord = fields<object>(
  "id merchant_id reference merchants_reference amount fee currency status created_at updated_at failure approval",
);
export const toRecord = <T extends Payment>(row: Row): T => ({
  ...JSON.parse(row.details),
  ...columnsToRecord(row),
  ...(row.due_at !== null && { due: { at: row.due_at, status: row.due_status } }),
  ...(row.customer_id !== null && { customer: { id: row.customer_id, phoneNumber: row.phone_number } }),
});

/** The tables of records, with all statuses, because queries read one range of an index for each. */
export const RECORDS = {
  disbursement: { table: "disbursements", statuses: ["pending", "success", "failed"] },
  checkout: { table: "checkouts", statuses: ["pending", "success", "failed", "cancelled"] },
} as const satisfies Record<PaymentKind, object>;
export type RecordTable = (typeof RECORDS)[PaymentKind];
export const KINDS = Object.keys(RECORDS) as PaymentKind[];
