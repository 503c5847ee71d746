import type { ClaimedDelivery, LaneClaim } from "../../domain/deliveries.ts";
import { toEvent } from "../event-rows.ts";
import { optional, toMerchant, type Row } from "../rows.ts";
import type { Query } from "./database.ts";
import { readSecrets } from "./secrets.ts";

/**
 * Limits an update to the events of a common table expression. As arrays, because PostgreSQL expects a few elements of an
 * array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
export const among = (name: string) =>
  `e.merchant_id = ANY(ARRAY(SELECT merchant_id FROM ${name})) AND e.id = ANY(ARRAY(SELECT id FROM ${name}))`;

/** A claim also takes the deliveries that a reset has deleted out of the queue. */
const CLAIM = `UPDATE events e SET ready = false, claimed = (e.epoch = m.epoch), claim_token = e.claim_token + 1,
    due_real = CASE WHEN e.epoch = m.epoch THEN :leased + $1::bigint END,
    next_attempt_at = CASE WHEN e.epoch = m.epoch THEN e.next_attempt_at END
  FROM merchants m WHERE m.id = e.merchant_id AND ${among("picked")} RETURNING e.*`;
const CLAIM_LANES = `WITH picked AS MATERIALIZED (
    SELECT e.merchant_id, e.id
    FROM unnest($2::text[], $3::text[], $4::bigint[]) AS lane (merchant_id, host, count)
    CROSS JOIN LATERAL (SELECT merchant_id, id FROM events
      WHERE ready AND merchant_id = lane.merchant_id AND host = lane.host
      ORDER BY next_attempt_at, seq LIMIT lane.count FOR UPDATE SKIP LOCKED) AS e)
  ${CLAIM}`;
const CLAIM_ONE = `WITH picked (merchant_id, id) AS (VALUES ($2::text, $3::text)) ${CLAIM}`;

/** Claims ready deliveries. Within a lane, those that fell due first are claimed first. */
export async function claimLanes(
  query: Query,
  lanes: readonly LaneClaim[],
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const columns = [
    lanes.map((each) => each.merchantId),
    lanes.map(({ host }) => host),
    lanes.map((each) => each.count),
  ];
  const { rows } = await query(CLAIM_LANES, [leaseMs, ...columns]);
  const claimed = await toClaims(
    query,
    rows.filter((row) => row.claimed),
  );
  const places = new Map(lanes.map(({ merchantId, host }, index) => [`${merchantId} ${host}`, index]));
  const placeOf = (row: Row) => places.get(`${row.merchant_id} ${row.host}`)!;
  return claimed.toSorted((a, b) => placeOf(a.row) - placeOf(b.row) || bySchedule(a.row, b.row)).map(scheduled);
}

/** Claims a delivery that exists, in any status. */
export async function claimOne(query: Query, merchantId: string, id: string, leaseMs: number): Promise<Unscheduled> {
  const { rows } = await query(CLAIM_ONE, [leaseMs, merchantId, id]);
  return (await toClaims(query, rows))[0]!.claim;
}

type Unscheduled = Omit<ClaimedDelivery, "dueAt">;

/** Returns what an attempt needs of each claimed row. */
async function toClaims(query: Query, rows: readonly Row[]): Promise<{ row: Row; claim: Unscheduled }[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.merchant_id as string))];
  const [found, secrets] = await Promise.all([
    query("SELECT * FROM merchants WHERE id = ANY($1::text[])", [ids]),
    readSecrets(query, ids),
  ]);
  const merchants = new Map(found.rows.map((row) => [row.id as string, toMerchant(row)]));
  return rows.map((row) => {
    const event = toEvent(row);
    const [token, step] = [row.claim_token as number, row.step as number];
    const merchant = merchants.get(event.merchantId)!;
    return { row, claim: { event, url: row.url as string, token, step, merchant, secrets: secrets.get(merchant.id)! } };
  });
}

/** A delivery whose replay was interrupted has no time in the schedule, unless it was pending before. */
function scheduled({ row, claim }: { row: Row; claim: Unscheduled }): ClaimedDelivery {
  const dueAt = optional<number>(row.next_attempt_at);
  return { ...claim, ...(dueAt !== undefined && { dueAt }) };
}

const dueOf = (row: Row) => (row.next_attempt_at ?? Number.MAX_SAFE_INTEGER) as number;

/** Orders by due time as the index does: a delivery without one comes last. */
function bySchedule(a: Row, b: Row): number {
  return dueOf(a) - dueOf(b) || (a.seq as number) - (b.seq as number);
}
