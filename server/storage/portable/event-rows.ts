import type { Event, EventType } from "../../domain/events.ts";
import type { Attempt, Delivery } from "../../domain/deliveries.ts";
import { optional, type Row } from "../rows.ts";

export function toEvent(row: Row): Event {
  const traceparent = optional<string>(row.traceparent);
  return {
    id: row.id as string,
    merchantId: row.merchant_id as string,
    type: row.type as EventType,
    reference: row.reference as string,
    createdAt: row.created_at as number,
    body: row.body as string,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

export function toAttempt(row: Row): Attempt {
  const httpStatus = optional<number>(row.http_status);
  const responseBody = optional<string>(row.response_body);
  const error = optional<string>(row.error);
  return {
    number: row.number as number,
    at: row.at as number,
    sentAt: row.sent_real as number,
    latencyMs: row.latency_ms as number,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(responseBody === undefined ? {} : { responseBody }),
    ...(error === undefined ? {} : { error }),
  };
}

export function toDelivery(row: Row, attempts: Attempt[]): Delivery {
  const nextAttemptAt = optional<number>(row.next_attempt_at);
  return {
    ...toEvent(row),
    url: row.url as string,
    status: row.status as Delivery["status"],
    step: row.step as number,
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
    attempts,
  };
}
