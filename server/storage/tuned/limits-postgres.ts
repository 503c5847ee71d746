import type { Disbursement } from "../../domain/disbursements.ts";
import type { ServiceError } from "../../domain/errors.ts";
import { insufficientFunds } from "../../domain/ledger.ts";
import type { Entry } from "../ledger-rows.ts";
import { refusalOf, type DailySum, type StoredBound } from "../limit-rows.ts";
import { insertRows, type Work } from "../portable/query.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";
import { coverage } from "./ledger-postgres.ts";

/** Adds to the sums, and locks them. Adding 0 locks a sum, even if the sum does not exist yet. */
const ADD = `ON CONFLICT (merchant_id, key_id, day, currency)
  DO UPDATE SET amount = daily_sums.amount + excluded.amount RETURNING *`;

/** A payout that has been stored, and that is removed again if a limit or the balance refuses it. */
export interface Candidate {
  record: Disbursement;
  bounds: readonly StoredBound[];
  entry: Entry;
  mustBeCovered: boolean;
}

const keyOf = (sum: DailySum | Row) => [sum.merchant_id, sum.key_id, sum.day, sum.currency].map(String).join(" ");
const sumsOf = ({ bounds }: Candidate) => bounds.flatMap(({ daily }) => daily ?? []);

/** Transactions lock sums after records and before accounts, in the order of these rows, so that they cannot deadlock. */
function* add(sums: readonly DailySum[]): Work<Map<string, number>> {
  if (sums.length === 0) return new Map();
  const groups = [...Map.groupBy(sums, keyOf)].toSorted(([a], [b]) => byText(a, b));
  const values = groups.map(([, each]) => ({ ...each[0]!, amount: each.reduce((sum, { amount }) => sum + amount, 0) }));
  const [added] = yield [insertRows("daily_sums", values, ADD)];
  return new Map(added!.rows.map((row) => [keyOf(row), row.amount as number]));
}

/**
 * Judges payouts by their limits and balances, one after the other, and counts the payouts that may stay. Returns the
 * refusals.
 */
export function* judge(candidates: readonly Candidate[]): Work<Map<Disbursement, ServiceError>> {
  const used = yield* add(candidates.flatMap(sumsOf).map((sum) => ({ ...sum, amount: 0 })));
  const covers = yield* coverage(candidates.map(({ entry }) => entry));
  const refusals = new Map<Disbursement, ServiceError>();
  for (const candidate of candidates) {
    const { record, bounds, entry, mustBeCovered } = candidate;
    const refusal =
      refusalOf(record, bounds, (sum) => used.get(keyOf(sum))!) ??
      (covers(entry, mustBeCovered) ? undefined : insufficientFunds(record));
    if (refusal) refusals.set(record, refusal);
    else for (const sum of sumsOf(candidate)) used.set(keyOf(sum), used.get(keyOf(sum))! + sum.amount);
  }
  yield* add(candidates.filter(({ record }) => !refusals.has(record)).flatMap(sumsOf));
  return refusals;
}
