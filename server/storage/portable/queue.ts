import type { Claimed, Queue } from "../../domain/deliveries.ts";
import { runAll, type Executor, type Query, type QueueTable, type WriteOptions } from "./query.ts";

/**
 * Changes selected rows, except rows that another process is changing. PostgreSQL gets arrays, because it expects a few
 * elements of an array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
export const updateSelected = (table: QueueTable["name"], changes: string, which: string): Query["text"] => ({
  sqlite: `UPDATE ${table} SET ${changes} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${which})`,
  postgres: `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM ${table} WHERE ${which} FOR UPDATE SKIP LOCKED)
    UPDATE ${table} SET ${changes} WHERE merchant_id = ANY(ARRAY(SELECT merchant_id FROM due)) AND id = ANY(ARRAY(SELECT id FROM due))`,
});

export const READY = "ready = true, leased_until = NULL";
/** The condition of a row that is neither ready nor claimed, in the words of the indexes. */
export const WAITING = "next_attempt_at IS NOT NULL AND ready = false AND leased_until IS NULL";
/** The rows that become ready: those that wait and are due, and those whose lease has ended. */
const BECOMING_READY = [
  `next_attempt_at <= (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`,
  "leased_until <= :leased ORDER BY leased_until",
];

/**
 * The statements of a queue, except for the statements that find lanes and claim: each database has its own of these.
 */
export function queueOf(
  { read, write }: Pick<Executor, "read" | "write">,
  { name, lapse }: QueueTable,
): Pick<Queue<Claimed>, "promoteDue" | "renew"> {
  // Without ORDER BY, PostgreSQL expects to find a row soon and reads the whole table.
  const anyDue = BECOMING_READY.map((which) => `SELECT 1 FROM (SELECT 1 FROM ${name} WHERE ${which} LIMIT 1) AS found`);
  const changes = lapse === undefined ? READY : `${READY}, ${lapse}`;
  const promoteThese = (of: string) =>
    BECOMING_READY.map((which) => updateSelected(name, changes, `${of}${which} LIMIT :limit`));
  const promote = promoteThese("");
  const promoteOfMerchant = promoteThese("merchant_id = :merchant AND ");
  const renewal = `UPDATE ${name} AS e SET leased_until = :leased + :lease::bigint FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id AND e.leased_until IS NOT NULL AND e.claim_token = given.token`;
  const unflushed: WriteOptions = { commit: "writeUnflushed", repeatable: true };

  return {
    async promoteDue(limit, merchant) {
      // Usually nothing is due. Avoid a transaction then.
      if ((await read({ text: anyDue.join(" UNION ALL ") })).length === 0) return 0;
      const [texts, options] =
        merchant === undefined ? [promote, unflushed] : [promoteOfMerchant, { repeatable: true }];
      const values = { limit, merchant: merchant ?? null };
      const promoted = await write(() => runAll(texts.map((text) => ({ text, values }))), options);
      return promoted.reduce((sum, { count }) => sum + count, 0);
    },
    async renew(claims, lease) {
      if (claims.length === 0) return;
      const columns = { merchant_id: "text", id: "text", token: "bigint" };
      const values = claims.map(({ lane, id, token }) => ({ merchant_id: lane.merchantId, id, token }));
      await write(() => runAll([{ text: renewal, values: { lease }, rows: { columns, values } }]), unflushed);
    },
  };
}
