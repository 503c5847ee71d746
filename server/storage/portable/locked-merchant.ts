import { toStored, type Row, type StoredMerchant } from "../rows.ts";
import { run, type Work } from "./query.ts";

/**
 * How a transaction locks a merchant. Work that depends on the merchant's clock or epoch `shares` it, which excludes
 * moves and resets. Work that writes events `orders` them, which excludes other writers of events, so that positions
 * are in the order of commits. A move or reset uses `alone`, which excludes all other work of the merchant.
 */
export type Lock = "shares" | "orders" | "alone";

export const LOCK_CLAUSES: Record<Lock, string> = {
  shares: "FOR KEY SHARE",
  orders: "FOR NO KEY UPDATE",
  alone: "FOR UPDATE",
};

/** A locked merchant. */
export interface LockedMerchant extends StoredMerchant {
  /** Real time after the lock was acquired. */
  now: number;
  /** Real time for the dates of records. */
  dated: number;
}

export const toLocked = (row: Row): LockedMerchant => ({
  ...toStored(row),
  now: row.now as number,
  dated: row.dated as number,
});

/** Locks one merchant until the end of the transaction. @throws Error if there is no such merchant */
export function* lockMerchant(id: string, lock: Lock): Work<LockedMerchant> {
  const sql = `SELECT *, :now AS now, :dated AS dated FROM merchants WHERE id = :merchant ${LOCK_CLAUSES[lock]}`;
  const { rows } = yield* run(sql, { merchant: id });
  return required(new Map(rows.map((row) => [row.id as string, toLocked(row)])), id);
}

/** @throws Error if there is no such merchant */
export function required<T>(merchants: ReadonlyMap<string, T>, id: string): T {
  const found = merchants.get(id);
  if (!found) throw new Error(`There is no merchant ${id}.`);
  return found;
}
