import type { Claimed, Lane, LaneClaim, Queue } from "../../domain/deliveries.ts";
import type { QueueTable, Work } from "../portable/query.ts";
import type { Context } from "../postgres/context.ts";
import type { Row } from "../rows.ts";

/**
 * The update gets arrays, because PostgreSQL expects a few elements of an array, and so uses the index; for a join it may
 * expect many rows and read the whole table.
 */
const claimOf = ({
  name,
  lane,
  order,
}: QueueTable) => `WITH picked AS MATERIALIZED (SELECT e.merchant_id, e.id FROM :rows
    CROSS JOIN LATERAL (SELECT merchant_id, id FROM ${name}
      WHERE ready AND merchant_id = given.merchant_id AND ${lane} = given.host
      ORDER BY next_attempt_at, ${order} LIMIT given.count FOR UPDATE SKIP LOCKED) AS e)
  UPDATE ${name} SET ready = false, leased_until = :leased + :lease::bigint, claim_token = claim_token + 1
  WHERE merchant_id = ANY(ARRAY(SELECT merchant_id FROM picked)) AND id = ANY(ARRAY(SELECT id FROM picked))
  RETURNING *`;
const LANES = { merchant_id: "text", host: "text", count: "bigint" };

const dueOf = (row: Row) => row.next_attempt_at as number;

/** Claims rows of a queue inside a transaction. */
export function* claimRows(queue: QueueTable, lanes: readonly LaneClaim[], lease: number): Work<readonly Row[]> {
  const values = lanes.map(({ merchantId, host, count }) => ({ merchant_id: merchantId, host, count }));
  const [picked] = yield [{ text: claimOf(queue), values: { lease }, rows: { columns: LANES, values } }];

  const { lane, order } = queue;
  const places = new Map(lanes.map(({ merchantId, host }, index) => [`${merchantId} ${host}`, index]));
  const placeOf = (row: Row) => places.get(`${row.merchant_id} ${row[lane]}`)!;
  const bySchedule = (a: Row, b: Row) => dueOf(a) - dueOf(b) || (a[order]! < b[order]! ? -1 : 1);
  return picked!.rows.toSorted((a, b) => placeOf(a) - placeOf(b) || bySchedule(a, b));
}

/** Jumps from lane to lane in the index, so that the number of rows in a lane does not matter. */
const readyLanes = ({ name, lane }: QueueTable) => `WITH RECURSIVE lanes AS (
    (SELECT merchant_id, ${lane} AS host FROM ${name} WHERE ready AND (merchant_id, ${lane}) > ($1, $2)
      ORDER BY merchant_id, ${lane} LIMIT 1)
    UNION ALL
    SELECT next.merchant_id, next.host FROM lanes CROSS JOIN LATERAL (
      SELECT merchant_id, ${lane} AS host FROM ${name} WHERE ready AND (merchant_id, ${lane}) > (lanes.merchant_id, lanes.host)
      ORDER BY merchant_id, ${lane} LIMIT 1) AS next
  )
  SELECT merchant_id, host FROM lanes LIMIT $3`;

export function laneReader({ db }: Context, queue: QueueTable): Queue<Claimed>["readyLanes"] {
  const sql = readyLanes(queue);
  return async ({ after, limit, merchantId }) => {
    const place = after ? [after.merchantId, after.host] : [merchantId ?? "", ""];
    const { rows } = await db.read(sql, [...place, limit]);
    const lanes = rows.map((row): Lane => ({ merchantId: row.merchant_id as string, host: row.host as string }));
    return merchantId === undefined ? lanes : lanes.filter((lane) => lane.merchantId === merchantId);
  };
}
