import { toMerchant, type Row, type StoredMerchant } from "../rows.ts";
import type { Query } from "./database.ts";

/**
 * How a transaction locks a merchant. Work that depends on the merchant's clock or epoch `shares` it, which excludes
 * moves and resets. Work that writes events has them in `order`, which excludes other writers of events, so that their
 * positions are in the order of commits. A move or reset is `alone`.
 */
export type Lock = "shares" | "orders" | "alone";

const CLAUSES: Record<Lock, string> = {
  shares: "FOR KEY SHARE",
  orders: "FOR NO KEY UPDATE",
  alone: "FOR UPDATE",
};

/** A locked merchant. */
export interface LockedMerchant extends StoredMerchant {
  /** Real time after the lock was acquired. */
  now: number;
  /** Real time as records are dated with it. */
  dated: number;
}

/**
 * Locks merchants until the end of the transaction. Every transaction locks its merchants first, and in the order of
 * their ids, so that transactions cannot deadlock.
 * @param wait false to leave out merchants that another transaction has locked
 */
export async function lockMerchants(
  query: Query,
  ids: readonly string[],
  lock: Lock,
  { wait = true } = {},
): Promise<Map<string, LockedMerchant>> {
  const clause = `${CLAUSES[lock]}${wait ? "" : " SKIP LOCKED"}`;
  const sql = `SELECT *, :now AS now, :dated AS dated FROM merchants WHERE id = ANY($1::text[]) ORDER BY id ${clause}`;
  const { rows } = await query(sql, [[...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id as string, toLocked(row)]));
}

/** Locks one merchant. @throws Error if there is no such merchant */
export async function lockMerchant(query: Query, id: string, lock: Lock): Promise<LockedMerchant> {
  return required(await lockMerchants(query, [id], lock), id);
}

/** @throws Error if there is no such merchant */
export function required<T>(merchants: ReadonlyMap<string, T>, id: string): T {
  const found = merchants.get(id);
  if (!found) throw new Error(`There is no merchant ${id}.`);
  return found;
}

export const toStored = (row: Row): StoredMerchant => ({ ...toMerchant(row), epoch: row.epoch as number });

const toLocked = (row: Row): LockedMerchant => ({
  ...toStored(row),
  now: row.now as number,
  dated: row.dated as number,
});
