import { enterQueues, LOCK_CLAUSES, toLocked, type Lock, type LockedMerchant } from "../portable/locked-merchant.ts";
import { runAll } from "../portable/query.ts";
import type { Query } from "./database.ts";
import { runIn } from "./executor.ts";

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
  const clause = `${LOCK_CLAUSES[lock]}${wait ? "" : " SKIP LOCKED"}`;
  const sql = `SELECT *, :now AS now FROM merchants WHERE id = ANY($1::text[]) ORDER BY id ${clause}`;
  const [, { rows }] = await Promise.all([
    runIn(query, runAll([enterQueues(ids, lock)])),
    query(sql, [[...new Set(ids)]]),
  ]);
  return new Map(rows.map((row) => [row.id as string, toLocked(row)]));
}
