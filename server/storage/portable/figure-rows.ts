import type { Failure } from "../../domain/records.ts";
import type { Day, FailingReceiver, FailureCount, Figure, GivenUpReceiver, LatePayouts } from "../../domain/figures.ts";
import { optional, type Row } from "../rows.ts";

export const toFigure = (row: Row, day: Day): Figure => ({
  day,
  status: row.status,
  currency: row.currency,
  payments: row.payments,
  amount: BigInt(row.amount_high) * 100_000_000n + BigInt(row.amount_low),
});

export const toGivenUp = (merchant: Row, row: Row): GivenUpReceiver => ({
  merchantId: merchant.id,
  host: row.host,
  failed: row.count,
  since: row.since,
});

export const toLate = (merchant: Row, counts: Row): LatePayouts => ({
  merchantId: merchant.id,
  payouts: counts.count,
  since: merchant.since,
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
  merchantId: lane.merchant_id,
  host: lane.host,
  waiting: counts.count,
  nextAttemptAt: lane.next_attempt,
  since: counts.since,
});
