import type { FailingReceiver, Figure, PaymentKind, PendingFigure, ReceiverAttempt } from "../../domain/figures.ts";
import type { FinalStatus } from "../../domain/records.ts";
import { optional, type Row } from "../rows.ts";

const amountOf = (row: Row) => BigInt(row.amount_high as number) * 100_000_000n + BigInt(row.amount_low as number);

export function toFigure(row: Row): Figure {
  const took = row.took as number;
  return {
    day: row.day as number,
    kind: row.kind as PaymentKind,
    status: row.status as FinalStatus,
    currency: row.currency as string,
    rail: row.rail as string,
    ...(took !== -1 && { within: took }),
    payments: row.payments as number,
    amount: amountOf(row),
  };
}

export function toPending(row: Row): PendingFigure {
  const [oldestAt, oldestOf = ""] = (row.oldest as string).split(" ");
  return {
    day: row.day as number,
    kind: row.kind as PaymentKind,
    currency: row.currency as string,
    payments: row.payments as number,
    amount: amountOf(row),
    oldestAt: Number(oldestAt),
    oldestOf,
  };
}

export const toFailingReceiver = (lane: Row, counts: Row): FailingReceiver => ({
  merchantId: lane.merchant_id as string,
  host: lane.host as string,
  waiting: counts.count as number,
  nextAttemptAt: lane.next_attempt_at as number,
  since: counts.since as number,
});

export function toReceiverAttempt(row: Row): ReceiverAttempt {
  const status = optional<number>(row.http_status);
  return {
    host: row.host as string,
    at: row.at as number,
    latencyMs: row.latency_ms as number,
    isDelivered: status !== undefined && status >= 200 && status < 300,
    result: status === undefined ? (optional<string>(row.error) ?? "no response") : `status ${status}`,
  };
}
