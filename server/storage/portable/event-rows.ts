import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import { destinationOf, eventOf, type Event } from "../../domain/events.ts";
import { toObject, type Row, type Values } from "../rows.ts";
import type { FinalRecord } from "./query.ts";

/** The number of attempts stored for each delivery. It is limited because replays are not. */
export const ATTEMPTS_KEPT = 100;

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
