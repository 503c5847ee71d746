import type { Failure } from "../../domain/records.ts";
import type { Day, FailureCount, Figure } from "../../domain/figures.ts";
import { optional, type Row } from "../rows.ts";

export const toFigure = (row: Row, day: Day): Figure => ({
  day,
  status: row.status,
  currency: row.currency,
  payments: row.payments,
  amount: BigInt(row.amount_high) * 100_000_000n + BigInt(row.amount_low),
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
