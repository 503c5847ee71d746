import { nameOf } from "../../domain/audit.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { RailExchange, Handover, StoredExchange } from "../../domain/handovers.ts";
import type { RailPayment } from "../../domain/rails.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import { optional, type Row, type StoredMerchant, type Values } from "../rows.ts";

/** The tables of the records. */
export const RECORD_TABLES = { disbursement: "disbursements", checkout: "checkouts" } as const;
export type Kind = keyof typeof RECORD_TABLES;

/** A new record's hand-over, which is ready at once. @param now real time */
export function handoverValues(
  record: Disbursement | Checkout,
  rail: string,
  { epoch }: StoredMerchant,
  now: number,
): Values {
  return {
    merchant_id: record.merchantId,
    epoch,
    id: record.reference,
    kind: "locale" in record ? "checkout" : "disbursement",
    rail,
    state: "waiting",
    created_real: now,
    next_attempt_at: now,
    ready: 1,
  };
}

/** @param recordRow the row of the payment's record */
export function toPayment(row: Row, recordRow: Row): RailPayment {
  const isCheckout = row.kind === "checkout";
  const record = isCheckout ? toCheckout(recordRow) : toDisbursement(recordRow);
  const railReference = optional<string>(row.rail_reference);
  return {
    kind: isCheckout ? "checkout" : "disbursement",
    reference: record.reference,
    amount: record.amount,
    country: record.country,
    currency: record.currency,
    ...("locale" in record ? { locale: record.locale } : { phoneNumber: record.customer.phoneNumber }),
    createdAt: row.created_real as number,
    ...(railReference !== undefined && { railReference }),
  };
}

export function toHandover(row: Row, recordRow: Row): Handover {
  const conflict = toConflict(row);
  const proposal = optional<string>(row.proposal);
  const proposed = proposal === undefined ? undefined : (JSON.parse(proposal) as NonNullable<Handover["proposal"]>);
  return {
    merchantId: row.merchant_id as string,
    payment: toPayment(row, recordRow),
    status: recordRow.status as Handover["status"],
    merchantsReference: recordRow.merchants_reference as string,
    rail: row.rail as string,
    state: row.state as Handover["state"],
    nextAttemptAt: row.state === "closed" ? undefined : optional(row.next_attempt_at),
    unknownSince: conflict ? undefined : optional(row.attention_real),
    url: optional(row.url),
    conflict,
    proposal: proposed && { ...proposed, by: nameOf(proposed.by) },
  };
}

/** The open conflict of a payment, since the payment needs a person. */
export function toConflict(row: Row): Handover["conflict"] {
  const answer = optional<string>(row.conflict);
  return answer === undefined ? undefined : { at: row.attention_real as number, answer: JSON.parse(answer) };
}

export const toExchange = (row: Row): StoredExchange => ({
  number: row.number as number,
  at: row.at_real as number,
  action: row.action as RailExchange["action"],
  latencyMs: row.latency_ms as number,
  result: row.result as RailExchange["result"],
  detail: optional(row.detail),
});
