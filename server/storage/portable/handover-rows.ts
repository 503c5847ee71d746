import { nameOf } from "../../domain/audit.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { Handover } from "../../domain/handovers.ts";
import type { RailPayment } from "../../domain/rails.ts";
import { RECORDS, type Kind } from "../record-rows.ts";
import { optional, type Row, type Values } from "../rows.ts";

/** A new record's hand-over, which is ready at once. @param now real time */
export function handoverValues(record: Disbursement | Checkout, rail: string, now: number) {
  return {
    merchant_id: record.merchantId,
    id: record.reference,
    kind: "locale" in record ? "checkout" : "disbursement",
    rail,
    state: "waiting",
    created_real: now,
    next_attempt_at: now,
    ready: 1,
  } satisfies Values;
}

/** @param recordRow the row of the payment's record */
export function toPayment(row: Row, recordRow: Row): RailPayment {
  const record = RECORDS[row.kind as Kind].toRecord(recordRow);
  return {
    kind: row.kind,
    reference: record.reference,
    amount: record.amount,
    country: record.country,
    currency: record.currency,
    ...("locale" in record ? { locale: record.locale } : { phoneNumber: record.customer.phoneNumber }),
    createdAt: row.created_real,
    ...(row.rail_reference !== null && { railReference: row.rail_reference }),
  };
}

export function toHandover(row: Row, recordRow: Row): Handover {
  const conflict = toConflict(row);
  const proposal = row.proposal === null ? undefined : JSON.parse(row.proposal);
  return {
    merchantId: row.merchant_id,
    payment: toPayment(row, recordRow),
    status: recordRow.status,
    merchantsReference: recordRow.merchants_reference,
    rail: row.rail,
    state: row.state,
    nextAttemptAt: row.state === "closed" ? undefined : optional(row.next_attempt_at),
    unknownSince: conflict ? undefined : optional(row.attention_real),
    url: optional(row.url),
    conflict,
    proposal: proposal && { ...proposal, by: nameOf(proposal.by) },
  };
}

/** The open conflict of a payment, since the payment needs a person. */
export const toConflict = ({ conflict, attention_real: at }: Row): Handover["conflict"] =>
  conflict === null ? undefined : { at, answer: JSON.parse(conflict) };
