import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import { destinationOf, eventOf, type Event } from "../../domain/events.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { toObject, type Row, type StoredMerchant, type Values } from "../rows.ts";

/** A record that has become final, and its merchant. */
export interface FinalRecord {
  record: Disbursement | Checkout;
  merchant: StoredMerchant;
}

/** Returns the row of the event of a record that has become final. */
export function eventValues({ record, merchant }: FinalRecord) {
  const { id, merchantId, type, reference, createdAt, body, traceparent = null } = eventOf(record, merchant.name);
  const destination = destinationOf(record, merchant);
  return {
    id,
    merchant_id: merchantId,
    type,
    reference,
    created_at: createdAt,
    body,
    traceparent,
    url: destination?.url ?? null,
    host: destination?.host ?? null,
    status: destination ? "pending" : null,
    next_attempt_at: destination ? createdAt - merchant.clockOffset : null,
    ready: destination ? 1 : 0,
  } satisfies Values;
}

export const toEvent = (row: Row): Event =>
  toObject<Event>({
    id: row.id,
    merchantId: row.merchant_id,
    type: row.type,
    reference: row.reference,
    createdAt: row.created_at,
    body: row.body,
    traceparent: row.traceparent,
  });

/** Returns the columns of an attempt, besides those that identify it. */
export const attemptValues = (attempt: Omit<Attempt, "number">) =>
  ({
    at: attempt.at,
    sent_real: attempt.sentAt,
    latency_ms: attempt.latencyMs,
    http_status: attempt.httpStatus ?? null,
    response_body: attempt.responseBody ?? null,
    error: attempt.error ?? null,
  }) satisfies Values;

export const toAttempt = (row: Row): Attempt =>
  toObject<Attempt>({
    number: row.number,
    at: row.at,
    sentAt: row.sent_real,
    latencyMs: row.latency_ms,
    httpStatus: row.http_status,
    responseBody: row.response_body,
    error: row.error,
  });

/** @param row with its merchant's clock_offset */
export const toDelivery = (row: Row, attempts: Attempt[]): Delivery => ({
  ...toEvent(row),
  ...toObject<Omit<Delivery, keyof Event>>({
    url: row.url,
    status: row.status,
    step: row.step,
    nextAttemptAt: row.next_attempt_at === null ? null : row.next_attempt_at + row.clock_offset,
    attempts,
  }),
});
