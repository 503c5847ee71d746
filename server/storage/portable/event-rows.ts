import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import { destinationOf, eventOf, type Event } from "../../domain/events.ts";
import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import { fields, type Row, type StoredMerchant, type Values } from "../rows.ts";

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

const EVENT = "id merchant_id type reference created_at body traceparent";
export const toEvent = fields<Event>(EVENT);

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

const deliveryOf = fields<Delivery>(`${EVENT} url status step next_attempt_at`);
/** @param row with its merchant's clock_offset */
export const toDelivery = (row: Row, attempts: Attempt[]): Delivery => ({
  ...deliveryOf(row),
  ...(row.next_attempt_at !== null && { nextAttemptAt: row.next_attempt_at + row.clock_offset }),
  attempts,
});
