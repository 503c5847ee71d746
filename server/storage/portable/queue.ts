import type { Claimed, Queue } from "../../domain/queues.ts";
import { runAll, run, type Executor, type Query, type QueueTable, type WriteOptions } from "./query.ts";

/**
 * Changes selected rows, except rows that another process is changing. PostgreSQL gets arrays, because it expects a few
 * elements of an array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
export const updateSelected = (table: QueueTable["name"], changes: string, which: string): Query["text"] => ({
  sqlite: `UPDATE ${table} SET ${changes} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${which})`,
  postgres: `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM ${table} WHERE ${which} FOR UPDATE SKIP LOCKED)
    UPDATE ${table} SET ${changes} WHERE merchant_id = ANY(ARRAY(SELECT merchant_id FROM due)) AND id = ANY(ARRAY(SELECT id FROM due))`,
});

export const CURRENT_EPOCH = "(SELECT epoch FROM merchants WHERE id = :merchant)";
export const READY = "ready = true, claimed = false, due_real = NULL";
/** Whether a row is due, or a lease has ended. The first condition is the range of the index. */
const DUE = `due_real <= greatest((SELECT :now), :leased)
  AND due_real <= CASE WHEN claimed THEN :leased ELSE (SELECT :now) END`;

/**
 * The statements of a queue, except for the statements that find lanes and claim: each database has its own of these.
 */
export function queueOf(
  { read, write }: Pick<Executor, "read" | "write">,
  { name, lapse }: QueueTable,
): Pick<Queue<Claimed>, "promoteDue" | "renew"> {
  // Without ORDER BY, PostgreSQL expects to find a row soon and reads the whole table.
  const anyDue = `SELECT 1 FROM ${name} WHERE ${DUE} ORDER BY due_real LIMIT 1`;
  const changes = lapse === undefined ? READY : `${READY}, ${lapse}`;
  const promote = updateSelected(name, changes, `${DUE} ORDER BY due_real LIMIT :limit`);
  const promoteOfMerchant = updateSelected(
    name,
    changes,
    `merchant_id = :merchant AND epoch = ${CURRENT_EPOCH}
     AND next_attempt_at <= (SELECT :now + clock_offset FROM merchants WHERE id = :merchant) AND ${DUE}
   ORDER BY next_attempt_at LIMIT :limit`,
  );
  const renewal = `UPDATE ${name} AS e SET due_real = :leased + :lease::bigint FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id AND e.claimed = true AND e.claim_token = given.token`;
  const unflushed: WriteOptions = { commit: "writeUnflushed", repeatable: true };

  return {
    async promoteDue(limit, merchant) {
      // Usually nothing is due. Avoid a transaction then.
      if ((await read({ text: anyDue })).length === 0) return 0;
      const promoted = await (merchant === undefined
        ? write(() => run(promote, { limit }), unflushed)
        : write(() => run(promoteOfMerchant, { limit, merchant }), { repeatable: true }));
      return promoted.count;
    },
    async renew(claims, lease) {
      if (claims.length === 0) return;
      const columns = { merchant_id: "text", id: "text", token: "bigint" };
      const values = claims.map(({ lane, id, token }) => ({ merchant_id: lane.merchantId, id, token }));
      await write(() => runAll([{ text: renewal, values: { lease }, rows: { columns, values } }]), unflushed);
    },
  };
}
