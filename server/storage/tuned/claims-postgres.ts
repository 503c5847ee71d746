import type { ClaimedDelivery, DeliveryQueue, Lane, LaneClaim } from "../../domain/deliveries.ts";
import { toEvent } from "../portable/event-rows.ts";
import type { Work } from "../portable/query.ts";
import { secretsQuery, toSecrets } from "../portable/secrets.ts";
import type { Context } from "../postgres/context.ts";
import { optional, toMerchant, type Row } from "../rows.ts";

/**
 * A claim also takes the deliveries that a reset has deleted out of the queue. The update gets arrays, because PostgreSQL
 * expects a few elements of an array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
const CLAIM = `WITH picked AS MATERIALIZED (SELECT e.merchant_id, e.id FROM :rows
    CROSS JOIN LATERAL (SELECT merchant_id, id FROM events
      WHERE ready AND merchant_id = given.merchant_id AND host = given.host
      ORDER BY next_attempt_at, seq LIMIT given.count FOR UPDATE SKIP LOCKED) AS e)
  UPDATE events e SET ready = false, claimed = (e.epoch = m.epoch), claim_token = e.claim_token + 1,
    due_real = CASE WHEN e.epoch = m.epoch THEN :leased + :lease::bigint END,
    next_attempt_at = CASE WHEN e.epoch = m.epoch THEN e.next_attempt_at END
  FROM merchants m WHERE m.id = e.merchant_id
    AND e.merchant_id = ANY(ARRAY(SELECT merchant_id FROM picked)) AND e.id = ANY(ARRAY(SELECT id FROM picked))
  RETURNING e.*`;
const LANES = { merchant_id: "text", host: "text", count: "bigint" };
const MERCHANTS = "SELECT * FROM merchants WHERE id = ANY(:ids::text[])";

/** Claims ready deliveries inside a transaction. Within a lane, deliveries that fell due first are claimed first. */
export function* claimLanes(lanes: readonly LaneClaim[], lease: number): Work<ClaimedDelivery[]> {
  const values = lanes.map(({ merchantId, host, count }) => ({ merchant_id: merchantId, host, count }));
  const [picked] = yield [{ text: CLAIM, values: { lease }, rows: { columns: LANES, values } }];
  const rows = picked!.rows.filter(({ claimed }) => claimed);
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.merchant_id as string))];
  const [found, previous] = yield [{ text: MERCHANTS, values: { ids } }, secretsQuery(ids)];
  const merchants = new Map(found!.rows.map((row) => [row.id as string, toMerchant(row)]));
  const secrets = toSecrets(previous!.rows);

  const places = new Map(lanes.map(({ merchantId, host }, index) => [`${merchantId} ${host}`, index]));
  const placeOf = (row: Row) => places.get(`${row.merchant_id} ${row.host}`)!;
  return rows
    .toSorted((a, b) => placeOf(a) - placeOf(b) || bySchedule(a, b))
    .map((row) => {
      const event = toEvent(row);
      // A delivery that an earlier version had claimed for a replay has no time in the schedule.
      const dueAt = optional<number>(row.next_attempt_at);
      return {
        event,
        url: row.url as string,
        token: row.claim_token as number,
        step: row.step as number,
        merchant: merchants.get(event.merchantId)!,
        secrets: secrets.get(event.merchantId)!,
        ...(dueAt !== undefined && { dueAt }),
      };
    });
}

const dueOf = (row: Row) => (row.next_attempt_at ?? Number.MAX_SAFE_INTEGER) as number;

/** Orders by due time as the index does: a delivery without a due time comes last. */
function bySchedule(a: Row, b: Row): number {
  return dueOf(a) - dueOf(b) || (a.seq as number) - (b.seq as number);
}

/** Jumps from lane to lane in the index, so that the number of deliveries in a lane does not matter. */
const READY_LANES = `WITH RECURSIVE lanes AS (
    (SELECT merchant_id, host FROM events WHERE ready AND (merchant_id, host) > ($1, $2)
      ORDER BY merchant_id, host LIMIT 1)
    UNION ALL
    SELECT next.merchant_id, next.host FROM lanes CROSS JOIN LATERAL (
      SELECT merchant_id, host FROM events WHERE ready AND (merchant_id, host) > (lanes.merchant_id, lanes.host)
      ORDER BY merchant_id, host LIMIT 1) AS next
  )
  SELECT merchant_id, host FROM lanes LIMIT $3`;

export const laneReader = ({ db }: Context): DeliveryQueue["readyLanes"] =>
  async function readyLanes({ after, limit, merchantId }) {
    const place = after ? [after.merchantId, after.host] : [merchantId ?? "", ""];
    const { rows } = await db.read(READY_LANES, [...place, limit]);
    const lanes = rows.map((row): Lane => ({ merchantId: row.merchant_id as string, host: row.host as string }));
    return merchantId === undefined ? lanes : lanes.filter((lane) => lane.merchantId === merchantId);
  };
