import type { Failure } from "../../domain/failures.ts";
import type {
  Day,
  FailingReceiver,
  FailureCount,
  Figure,
  GivenUpReceiver,
  LatePayouts,
  ReceiverAttempt,
} from "../../domain/figures.ts";
import { optional, type Row } from "../rows.ts";

export const toFigure = (row: Row, day: Day): Figure => ({
  day,
  status: row.status as Figure["status"],
  currency: row.currency as string,
  payments: row.payments as number,
  amount: BigInt(row.amount_high as number) * 100_000_000n + BigInt(row.amount_low as number),
});

export const toGivenUp = (merchant: Row, row: Row): GivenUpReceiver => ({
  merchantId: merchant.id as string,
  host: row.host as string,
  failed: row.count as number,
  since: row.since as number,
});

export const toLate = (merchant: Row, counts: Row): LatePayouts => ({
  merchantId: merchant.id as string,
  payouts: counts.count as number,
  since: merchant.since as number,
});

function codeOf({ failure }: Row): string | undefined {
  const stored = optional<string>(failure);
  return stored === undefined ? undefined : (JSON.parse(stored) as Failure).code;
}

/** Providers have messages of their own, so failures with one code can differ. */
export const toFailureCounts = (rows: readonly Row[]): FailureCount[] =>
  [...Map.groupBy(rows, codeOf)].map(([code, of]) => ({
    code,
    payments: of.reduce((total, { count }) => total + (count as number), 0),
  }));

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
