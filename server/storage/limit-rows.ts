import type { Disbursement } from "../domain/disbursements.ts";
import type { ServiceError } from "../domain/errors.ts";
import { limitRefusal, type Bound, type Limits } from "../domain/limits.ts";
import { limitsOf, type StoredMerchant, type Values } from "./rows.ts";

/** What a payout adds to the sum of a day of its key or merchant. */
export type DailySum = ReturnType<typeof dailySum>;

const dailySum = ({ amount, currency }: Disbursement, { id, epoch }: StoredMerchant, keyId: string, now: number) =>
  ({
    merchant_id: id,
    epoch,
    key_id: keyId,
    day: new Date(now).toISOString().slice(0, 10),
    currency,
    amount,
  }) satisfies Values;

/** A limit of a new payout, and the sum to which the payout adds. Only a daily limit has a sum. */
export type StoredBound = Bound & { daily?: DailySum };

/**
 * Returns the limits of a payout.
 * @param keyId the key of the request, and `keyLimits` the key's column of limits
 * @param now real time, which decides the day
 */
export function boundsOf(
  record: Disbursement,
  merchant: StoredMerchant,
  { keyId = "", keyLimits, now }: { keyId: string | undefined; keyLimits: unknown; now: number },
): readonly StoredBound[] {
  const given: [string, Limits | undefined][] = [
    [keyId, limitsOf(keyLimits ?? null).limits],
    ["", merchant.limits],
  ];
  return given.flatMap(([id, limits]) =>
    limits ? [{ keyId: id, limits, ...(limits.perDay && { daily: dailySum(record, merchant, id, now) }) }] : [],
  );
}

/** Returns why a limit refuses a payout; undefined if none does. @param usedIn the amount of a sum before this payout */
export function refusalOf(
  record: Disbursement,
  bounds: readonly StoredBound[],
  usedIn: (sum: DailySum) => number,
): ServiceError | undefined {
  for (const bound of bounds) {
    const refusal = limitRefusal(record, bound, bound.daily ? usedIn(bound.daily) : 0);
    if (refusal) return refusal;
  }
  return undefined;
}
