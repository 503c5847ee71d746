import { hmacs } from "../domain/keys.ts";
import { derivedReference } from "../domain/ids.ts";
import { sandboxTime } from "../domain/time.ts";
import type { Checkout, Customer, Disbursement, Draft, DueAfter, Failure, Payment } from "../domain/records.ts";
import { fields, type Row, type StoredMerchant, type Values } from "./rows.ts";

const hmac = hmacs("hex", (secret) => Buffer.from(secret));

/** What a customer's id is derived from, besides the phone number. */
type CustomerSource = Pick<StoredMerchant, "id" | "createdAt" | "customerSecret">;

/**
 * Returns a merchant's customer. Its id is a UUIDv7 with the time of the merchant's creation. Because of the merchant's
 * secret, the id does not reveal the phone number.
 */
export function customerOf({ id, createdAt, customerSecret }: CustomerSource, phoneNumber: string): Customer {
  const time = createdAt.toString(16).padStart(12, "0");
  const digits = hmac(customerSecret, `${id} ${phoneNumber}`);
  const start = `${time.slice(0, 8)}-${time.slice(8)}`;
  return { id: `${start}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`, phoneNumber };
}

/**
 * The service's reference of a new record, which is also what a rail gets (D73). That of a live payment is
 * derived from the merchant's own reference. So if a restore or a failover has lost the payment, and the merchant repeats it,
 * the rail knows it.
 */
function referenceOf(
  { reference, merchantsReference, rail, ...draft }: Draft<Disbursement> | Draft<Checkout>,
  { id, customerSecret }: StoredMerchant,
): string {
  const isNamed = merchantsReference !== reference;
  const isLive = rail !== undefined || ("approval" in draft && draft.approval?.plan.rail !== undefined);
  if (!isNamed || !isLive) return reference;
  const prefix = "locale" in draft ? "CHK" : "DSB";
  return derivedReference(prefix, Buffer.from(hmac(customerSecret, `${prefix} ${id} ${merchantsReference}`), "hex"));
}

/** Returns the record that a draft becomes, dated with the merchant's current time. @param now real time */
export function recorded<T extends Payment>(
  draft: Draft<T> & { customer?: Customer },
  merchant: StoredMerchant,
  now: number,
): T {
  const at = sandboxTime(merchant, now);
  const {
    due,
    rail: _,
    mustBeCovered: __,
    keyId: ___,
    madeBy: ____,
    refusal: _____,
    ...rest
  } = draft as unknown as Draft<Checkout>;
  const record = { ...rest, reference: referenceOf(draft as never, merchant), createdAt: at, updatedAt: at };
  return (due === undefined ? record : { ...record, due: { at: now + due.afterMs, status: due.status } }) as T;
}

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
    ...("locale" in record ? {} : { approval: approval ? JSON.stringify(approval) : null }),
  } satisfies Values;
}

export const failureValue = (failure: Failure | undefined): string | null =>
  failure === undefined ? null : JSON.stringify(failure);

/** Returns the columns for when a record is due, and for its failure if it will fail then. @param now real time */
export const dueValues = (due: DueAfter | undefined, failure: Failure | undefined, now: number) => ({
  due_at: due === undefined ? null : now + due.afterMs,
  due_status: due?.status ?? null,
  failure: failureValue(failure),
});

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
} as const;
export type Kind = keyof typeof RECORDS;
export type RecordTable = (typeof RECORDS)[Kind];
export const KINDS = Object.keys(RECORDS) as Kind[];
