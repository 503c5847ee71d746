import type { Claim, Lane, LaneClaim, Queue } from "../../domain/deliveries.ts";
import type { Row } from "../rows.ts";
import {
  afterLane,
  given,
  runAll,
  type Executor,
  type Query,
  type QueueTable,
  type Work,
  type WriteOptions,
} from "./query.ts";

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
/** The condition of a delivery that waits for a retry. At the first step a delivery waits for a replay instead. */
export const RETRYING = `${WAITING} AND step > 0`;
/** The rows that become ready: those that wait and are due, and those whose lease has ended. */
const BECOMING_READY = [
  `next_attempt_at <= (SELECT :now) AND ${WAITING} ORDER BY next_attempt_at`,
  "leased_until <= :leased ORDER BY leased_until",
];

/**
 * Jumps from lane to lane in the index, so that the number of rows in a lane does not matter. SQLite uses the index for
 * texts without the affinity of a column.
 */
const READY_LANES = ({ name, lane }: QueueTable) => {
  const next = (column: string) => `(SELECT ${column} FROM ${name}
    WHERE ready = true AND ${afterLane(lane, "'' || lanes.merchant_id, '' || lanes.host")}
    ORDER BY merchant_id, ${lane}, next_attempt_at LIMIT 1)`;
  return `WITH RECURSIVE lanes (merchant_id, host) AS (
      SELECT :merchant::text COLLATE "C", :host::text COLLATE "C"
      UNION ALL SELECT ${next("merchant_id")}, ${next(lane)} FROM lanes WHERE lanes.merchant_id IS NOT NULL
    ) SELECT merchant_id, host FROM lanes WHERE merchant_id IS NOT NULL LIMIT :limit OFFSET 1`;
};

/**
 * Claims the first rows of each given lane. Two texts, because every webhook passes here: PostgreSQL claims in all lanes
 * with one statement, and skips rows that another process has locked. SQLite runs its text once for each lane.
 */
const CLAIM = ({ name, lane, order }: QueueTable): Query["text"] => {
  const changes = "ready = false, leased_until = :leased + :lease::bigint, claim_token = claim_token + 1";
  const which = `ready = true AND merchant_id = given.merchant_id AND ${lane} = given.host
    ORDER BY next_attempt_at, ${order} LIMIT given.count`;
  return {
    sqlite: `UPDATE ${name} SET ${changes} WHERE rowid IN (SELECT rowid FROM ${name} WHERE ${which}) RETURNING *`,
    postgres: `WITH picked AS MATERIALIZED (SELECT e.merchant_id, e.id FROM :rows
        CROSS JOIN LATERAL (SELECT merchant_id, id FROM ${name} WHERE ${which} FOR UPDATE SKIP LOCKED) AS e)
      UPDATE ${name} SET ${changes} WHERE merchant_id = ANY(ARRAY(SELECT merchant_id FROM picked))
        AND id = ANY(ARRAY(SELECT id FROM picked)) RETURNING *`,
  };
};

/**
 * Claims ready rows of a queue inside a transaction. Returns them as the claim left them, in the order of the lanes, and
 * within a lane in the order in which they fell due.
 */
export function* claimRows(queue: QueueTable, lanes: readonly LaneClaim[], lease: number): Work<readonly Row[]> {
  const { lane, order } = queue;
  const values = lanes.map(({ merchantId, host, count }) => ({ merchant_id: merchantId, host, count }));
  const [claimed] = yield [{ text: CLAIM(queue), values: { lease }, rows: given("events", values) }];
  const places = new Map(lanes.map(({ merchantId, host }, index) => [`${merchantId} ${host}`, index]));
  const placeOf = (row: Row) => places.get(`${row.merchant_id} ${row[lane]}`)!;
  const bySchedule = (a: Row, b: Row) => a.next_attempt_at - b.next_attempt_at || (a[order] < b[order] ? -1 : 1);
  return claimed!.rows.toSorted((a, b) => placeOf(a) - placeOf(b) || bySchedule(a, b));
}

/** The statements of a queue, except for claims, which are part of a larger transaction. */
export function queueOf(
  { read, write }: Pick<Executor, "read" | "write">,
  queue: QueueTable,
): Pick<Queue<Claim>, "promoteDue" | "readyLanes" | "renew"> {
  const { name, lapse } = queue;
  // Without ORDER BY, PostgreSQL expects to find a row soon and reads the whole table.
  const anyDue = BECOMING_READY.map((which) => `SELECT 1 FROM (SELECT 1 FROM ${name} WHERE ${which} LIMIT 1) AS found`);
  const changes = lapse === undefined ? READY : `${READY}, ${lapse}`;
  const promote = BECOMING_READY.map((which) => updateSelected(name, changes, `${which} LIMIT :limit`));
  const renewal = `UPDATE ${name} AS e SET leased_until = :leased + :lease::bigint FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id AND e.leased_until IS NOT NULL AND e.claim_token = given.token`;
  const lanesText = READY_LANES(queue);
  const unflushed: WriteOptions = { commit: "writeUnflushed", idempotent: true };

  return {
    async promoteDue(limit) {
      // Usually nothing is due. Avoid a transaction then.
      if ((await read({ text: anyDue.join(" UNION ALL ") })).length === 0) return 0;
      const promoted = await write(() => runAll(promote.map((text) => ({ text, values: { limit } }))), unflushed);
      return promoted.reduce((sum, { count }) => sum + count, 0);
    },
    async readyLanes({ after, limit }) {
      const { merchantId: merchant = "", host = "" } = after ?? {};
      const rows = await read({ text: lanesText, values: { merchant, host, limit } });
      return rows.map((row): Lane => ({ merchantId: row.merchant_id, host: row.host }));
    },
    async renew(claims, lease) {
      if (claims.length === 0) return;
      const values = claims.map(({ lane, id, token }) => ({ merchant_id: lane.merchantId, id, token }));
      await write(() => runAll([{ text: renewal, values: { lease }, rows: given(name, values) }]), unflushed);
    },
  };
}
