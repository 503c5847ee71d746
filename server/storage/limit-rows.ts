import { heldBack, type Disbursement } from "../domain/disbursements.ts";
import type { Eyes } from "../domain/audit.ts";
import type { Checkout } from "../domain/checkouts.ts";
import type { ServiceError } from "../domain/errors.ts";
import { suspension } from "../domain/merchants.ts";
import type { Draft } from "../domain/records.ts";
import { approvalLevel, limitRefusal, type Bound, type Limits } from "../domain/limits.ts";
import { fromJson, keyRevoked, optional, type Row, type StoredMerchant, type Values } from "./rows.ts";

/** The amount that a payout adds to the sum of a day of its key or merchant. */
export type DailySum = ReturnType<typeof dailySum>;

const dailySum = ({ amount, currency }: Draft<Disbursement>, { id }: StoredMerchant, keyId: string, now: number) =>
  ({
    merchant_id: id,
    key_id: keyId,
    day: new Date(now).toISOString().slice(0, 10),
    currency,
    amount,
  }) satisfies Values;

/** A limit of a new payout, and the sum to which the payout adds. Only a daily limit has a sum. */
export type StoredBound = Bound & { daily?: DailySum };

/** The part of a key's row that concerns its payments; undefined without a key. */
export type KeyRow = Row | undefined;

type AnyDraft = Draft<Disbursement> | Draft<Checkout>;

/** Returns why a payment is refused, whatever it pays. */
export const refusalFor = (draft: AnyDraft, merchant: StoredMerchant, key: KeyRow): ServiceError | undefined =>
  draft.keyId !== undefined && key?.revoked_at !== null ? keyRevoked() : (suspension(merchant) ?? draft.refusal);

/** Returns the limits of a payout. @param now real time, which decides the day */
function boundsOf(draft: Draft<Disbursement>, merchant: StoredMerchant, key: KeyRow, now: number): StoredBound[] {
  const given: [string, Limits | null | undefined][] = [
    [draft.keyId ?? "", fromJson(key?.limits ?? null) as Limits | null],
    ["", merchant.limits],
  ];
  return given.flatMap(([keyId, limits]) =>
    limits ? [{ keyId, limits, ...(limits.perDay && { daily: dailySum(draft, merchant, keyId, now) }) }] : [],
  );
}

/** Returns the limits of a payout, and its draft: held back if a limit asks for approval. */
export function limited(draft: Draft<Disbursement>, merchant: StoredMerchant, key: KeyRow, now: number) {
  const bounds = boundsOf(draft, merchant, key, now);
  const level = approvalLevel(draft, bounds);
  const creator = key && optional<Eyes>(key.created_by);
  // A starting server is not a person, and cannot approve payouts.
  const madeBy = draft.madeBy ?? (creator?.startsWith("server ") ? undefined : creator);
  const held = level === undefined ? draft : heldBack(draft, { level, ...(madeBy !== undefined && { madeBy }) });
  return { bounds, draft: held };
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
