import type { RecordSettled } from "../domain/telemetry.ts";
import { hmacs } from "../domain/secrets.ts";
import { derivedReference } from "../domain/ids.ts";
import { sandboxTime } from "../domain/time.ts";
import type { Checkout } from "../domain/checkouts.ts";
import type { Disbursement } from "../domain/disbursements.ts";
import type { Failure } from "../domain/failures.ts";
import type { Customer, Approval, Draft, DueAfter, FinalStatus } from "../domain/records.ts";
import { optional, type Row, type StoredMerchant, type Values } from "./rows.ts";

const hmac = hmacs("hex", (secret) => Buffer.from(secret));

/**
 * The service's reference of a new record, which is also what a rail gets (D73). A live payment that the merchant has
 * named has always the same reference. So if a restore or a failover has lost the payment, and the merchant repeats it,
 * the rail knows it.
 */
function referenceOf(
  { reference, merchantsReference, rail, ...draft }: Draft<Disbursement> | Draft<Checkout>,
  { id, epoch, customerSecret }: StoredMerchant,
): string {
  const isNamed = merchantsReference !== reference;
  const isLive = rail !== undefined || ("approval" in draft && draft.approval?.plan.rail !== undefined);
  if (!isNamed || !isLive) return reference;
  const prefix = "locale" in draft ? "CHK" : "DSB";
  return derivedReference(
    prefix,
    Buffer.from(hmac(customerSecret, `${prefix} ${id} ${epoch} ${merchantsReference}`), "hex"),
  );
}

/** Returns the record that a draft becomes, dated with the merchant's current time. @param now real time */
export function recorded<T extends Disbursement | Checkout>(
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
  return (due === undefined ? record : { ...record, due: { at: at + due.afterMs, status: due.status } }) as T;
}

export function toValues(record: Disbursement | Checkout, { epoch, clockOffset }: StoredMerchant): Values {
  return {
    id: record.id,
    merchant_id: record.merchantId,
    epoch,
    reference: record.reference,
    merchants_reference: record.merchantsReference,
    customer_id: record.customer?.id ?? null,
    phone_number: record.customer?.phoneNumber ?? null,
    amount: record.amount,
    fee: record.fee,
    country: record.country,
    currency: record.currency,
    webhook_url: record.webhookURL ?? null,
    status: record.status,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    due_at: record.due?.at ?? null,
    due_real: record.due === undefined ? null : record.due.at - clockOffset,
    due_status: record.due?.status ?? null,
    failure: failureValue(record.failure),
    traceparent: record.traceparent ?? null,
    ...("locale" in record
      ? { locale: record.locale, redirect_url: record.redirectURL ?? null }
      : { approval: record.approval ? JSON.stringify(record.approval) : null }),
  };
}

export const failureValue = (failure: Failure | undefined): string | null =>
  failure === undefined ? null : JSON.stringify(failure);

/** Returns the columns for a record's due time, computed with the merchant's clock. */
export function dueValues(due: DueAfter | undefined, merchant: StoredMerchant, now: number): Values {
  if (due === undefined) return { due_at: null, due_real: null, due_status: null };
  return { due_at: sandboxTime(merchant, now) + due.afterMs, due_real: now + due.afterMs, due_status: due.status };
}

/** Returns the report about a record that was settled `delayMs` after it was due. */
export function settledReport({ merchantId, traceparent }: Disbursement | Checkout, delayMs: number): RecordSettled {
  return { merchantId, delayMs, ...(traceparent === undefined ? {} : { traceparent }) };
}

function toRecord(row: Row) {
  const webhookURL = optional<string>(row.webhook_url);
  const dueAt = optional<number>(row.due_at);
  const failure = optional<string>(row.failure);
  const traceparent = optional<string>(row.traceparent);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    reference: row.reference as string,
    merchantsReference: row.merchants_reference as string,
    amount: row.amount as number,
    fee: row.fee as number,
    country: row.country as string,
    currency: row.currency as string,
    ...(webhookURL === undefined ? {} : { webhookURL }),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    ...(dueAt === undefined ? {} : { due: { at: dueAt, status: row.due_status as FinalStatus } }),
    ...(failure === undefined ? {} : { failure: JSON.parse(failure) as Failure }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

export function toDisbursement(row: Row): Disbursement {
  const approval = optional<string>(row.approval);
  return {
    ...toRecord(row),
    status: row.status as Disbursement["status"],
    customer: { id: row.customer_id as string, phoneNumber: row.phone_number as string },
    ...(approval === undefined ? {} : { approval: JSON.parse(approval) as Approval }),
  };
}

export function toCheckout(row: Row): Checkout {
  const redirectURL = optional<string>(row.redirect_url);
  const customerId = optional<string>(row.customer_id);
  return {
    ...toRecord(row),
    status: row.status as Checkout["status"],
    locale: row.locale as Checkout["locale"],
    ...(redirectURL === undefined ? {} : { redirectURL }),
    ...(customerId === undefined ? {} : { customer: { id: customerId, phoneNumber: row.phone_number as string } }),
  };
}
