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
  const nextAttemptAt = optional<number>(row.next_attempt_at);
  const attentionAt = optional<number>(row.attention_real);
  const url = optional<string>(row.url);
  const conflict = optional<string>(row.conflict);
  const proposal = optional<string>(row.proposal);
  const proposed = proposal === undefined ? undefined : (JSON.parse(proposal) as NonNullable<Handover["proposal"]>);
  return {
    merchantId: row.merchant_id as string,
    payment: toPayment(row, recordRow),
    status: recordRow.status as Handover["status"],
    merchantsReference: recordRow.merchants_reference as string,
    rail: row.rail as string,
    state: row.state as Handover["state"],
    ...(nextAttemptAt !== undefined && row.state !== "closed" && { nextAttemptAt }),
    ...(attentionAt !== undefined && conflict === undefined && { unknownSince: attentionAt }),
    ...(url !== undefined && { url }),
    ...(conflict !== undefined && { conflict: { at: attentionAt!, answer: JSON.parse(conflict) } }),
    ...(proposed && { proposal: { ...proposed, by: nameOf(proposed.by) } }),
  };
}

export function toExchange(row: Row): StoredExchange {
  const detail = optional<string>(row.detail);
  return {
    number: row.number as number,
    at: row.at_real as number,
    action: row.action as RailExchange["action"],
    latencyMs: row.latency_ms as number,
    result: row.result as RailExchange["result"],
    ...(detail !== undefined && { detail }),
  };
}
