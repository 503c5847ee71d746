import { createHash } from "node:crypto";
import { toStored, type StoredMerchant } from "../rows.ts";
import type { Query, QueryResult, Work } from "./query.ts";

/**
 * How a transaction locks a merchant. `shares`: the merchant must not change meanwhile. `orders`: one at a time, for
 * example so that the positions of events are in the order of commits. `alone`: excludes all other work of the merchant,
 * for example for a move of its clock, a reset, or a change of its state or of a key.
 */
export type Lock = "shares" | "orders" | "alone";

/** How PostgreSQL locks the row, and the queue in front of it. */
const LOCKS: Record<Lock, { row: string; queue: string }> = {
  shares: { row: "FOR KEY SHARE", queue: "pg_advisory_xact_lock_shared" },
  orders: { row: "FOR NO KEY UPDATE", queue: "pg_advisory_xact_lock_shared" },
  alone: { row: "FOR UPDATE", queue: "pg_advisory_xact_lock" },
};

/** Identifies the queues among the database's advisory locks: an arbitrary number that no other program uses. */
const QUEUES = 730_581;

/**
 * Merchants share 256 queues, because PostgreSQL's table of locks has a fixed size, and a batch may lock hundreds of
 * merchants.
 */
const queueOf = (id: string) => createHash("sha256").update(id).digest()[0]!;

/**
 * Waits behind earlier work on these merchants. A lock of a row does not: PostgreSQL lets work that shares the row pass
 * work that waits to have it alone, so a suspension would wait for as long as payments are created. A transaction enters
 * all of its queues at once and in order, so that transactions cannot deadlock.
 */
function enterQueues(ids: readonly string[], lock: Lock): Query {
  const queues = [...new Set([...new Set(ids)].map(queueOf))].toSorted((a, b) => a - b);
  const postgres = `SELECT ${LOCKS[lock].queue}(${QUEUES}, queue) FROM unnest(:queues::int[]) AS queue`;
  // In SQLite one program writes, so nothing waits.
  return { text: { sqlite: "SELECT 1 WHERE false", postgres }, values: { queues } };
}

/** A locked merchant. */
export interface LockedMerchant extends StoredMerchant {
  /** Real time after the lock was acquired. */
  now: number;
}

export const toLocked = ({ rows }: QueryResult): Map<string, LockedMerchant> =>
  new Map(rows.map((row) => [row.id as string, { ...toStored(row), now: row.now as number }]));

/** The statements that lock merchants, in the order of their ids. `toLocked` converts the rows of the second. */
export function lockQueries(ids: readonly string[], lock: Lock, { wait = true } = {}): [Query, Query] {
  const text = `SELECT *, :now AS now FROM merchants WHERE id = ANY(:merchants::text[]) ORDER BY id ${LOCKS[lock].row}`;
  const values = { merchants: [...new Set(ids)] };
  return [enterQueues(ids, lock), { text: wait ? text : `${text} SKIP LOCKED`, values }];
}

/**
 * Locks merchants until the end of the transaction. Every transaction locks its merchants first, and in the order of
 * their ids, so that transactions cannot deadlock. Leaves out ids of no merchant.
 * @param wait false to leave out merchants that another transaction has locked; it still waits in the queues
 */
export function* lockMerchants(
  ids: readonly string[],
  lock: Lock,
  options?: { wait: boolean },
): Work<Map<string, LockedMerchant>> {
  const [, locked] = yield lockQueries(ids, lock, options);
  return toLocked(locked!);
}

/** Locks one merchant until the end of the transaction. @throws Error if there is no such merchant */
export function* lockMerchant(id: string, lock: Lock): Work<LockedMerchant> {
  return required(yield* lockMerchants([id], lock), id);
}

/** @throws Error if there is no such merchant */
export function required<T>(merchants: ReadonlyMap<string, T>, id: string): T {
  const found = merchants.get(id);
  if (!found) throw new Error(`There is no merchant ${id}.`);
  return found;
}
