import type { Actor } from "../../domain/audit.ts";
import type { ClaimedDelivery, DeliveryQueue, Lane } from "../../domain/storage.ts";
import { sandboxTime } from "../../domain/time.ts";
import { toEvent } from "../event-rows.ts";
import { optional, toMerchant, type Row } from "../rows.ts";
import { recordAttempt } from "./attempts.ts";
import { recordAction } from "./audit.ts";
import { unnested, type Context } from "./context.ts";
import type { Query } from "./database.ts";
import { lockMerchant } from "./merchant-rows.ts";
import { readSecrets } from "./secrets.ts";

/**
 * Limits an update to the events of a common table expression. As arrays, because PostgreSQL expects a few elements of an
 * array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
const among = (name: string) =>
  `e.merchant_id = ANY(ARRAY(SELECT merchant_id FROM ${name})) AND e.id = ANY(ARRAY(SELECT id FROM ${name}))`;
const PROMOTE = `UPDATE events e SET ready = true, claimed = false, due_real = NULL WHERE ${among("due")}`;
const PROMOTE_ALL = `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM events WHERE due_real <= (SELECT :now)
    ORDER BY due_real LIMIT $1 FOR UPDATE SKIP LOCKED)
  ${PROMOTE}`;
const PROMOTE_OF_MERCHANT = `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM events WHERE merchant_id = $2
    AND epoch = (SELECT epoch FROM merchants WHERE id = $2)
    AND next_attempt_at <= (SELECT :now + clock_offset FROM merchants WHERE id = $2) AND due_real <= (SELECT :now)
    ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED)
  ${PROMOTE}`;

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

/** A claim also takes the deliveries that a reset has deleted out of the queue. */
const CLAIM = `UPDATE events e SET ready = false, claimed = (e.epoch = m.epoch), claim_token = e.claim_token + 1,
    due_real = CASE WHEN e.epoch = m.epoch THEN :now + $1::bigint END,
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

/** Finds a delivery, unless a reset has deleted it. */
const LOCK_ONE = `SELECT e.*, e.claimed AND e.due_real > :now AS is_underway
  FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
  WHERE e.merchant_id = $1 AND e.id = $2 AND e.url IS NOT NULL FOR UPDATE OF e`;

export function deliveryQueue({ db }: Context): DeliveryQueue {
  return {
    async promoteDue(limit, merchantId) {
      // Usually nothing is due. Avoid a transaction then. Without the order, PostgreSQL expects to find a row soon and
      // reads the whole table.
      const due = await db.read("SELECT 1 FROM events WHERE due_real <= (SELECT :now) ORDER BY due_real LIMIT 1");
      if (due.count === 0) return 0;
      const promoted = await db.transaction(
        (query) =>
          merchantId === undefined ? query(PROMOTE_ALL, [limit]) : query(PROMOTE_OF_MERCHANT, [limit, merchantId]),
        { repeatable: true },
      );
      return promoted.count;
    },
    async readyLanes({ after, limit, merchantId }) {
      const place = after ? [after.merchantId, after.host] : [merchantId ?? "", ""];
      const { rows } = await db.read(READY_LANES, [...place, limit]);
      const lanes = rows.map((row): Lane => ({ merchantId: row.merchant_id as string, host: row.host as string }));
      return merchantId === undefined ? lanes : lanes.filter((lane) => lane.merchantId === merchantId);
    },
    claimDeliveries(lanes, leaseMs) {
      const columns = [
        lanes.map((each) => each.merchantId),
        lanes.map(({ host }) => host),
        lanes.map((each) => each.count),
      ];
      return db.transaction(
        async (query) => {
          const { rows } = await query(CLAIM_LANES, [leaseMs, ...columns]);
          const claimed = await toClaims(
            query,
            rows.filter((row) => row.claimed),
          );
          const places = new Map(lanes.map(({ merchantId, host }, index) => [`${merchantId} ${host}`, index]));
          const placeOf = (row: Row) => places.get(`${row.merchant_id} ${row.host}`)!;
          return claimed.toSorted((a, b) => placeOf(a.row) - placeOf(b.row) || bySchedule(a.row, b.row)).map(scheduled);
        },
        // A claim whose outcome is unknown ends with its lease.
        { repeatable: true },
      );
    },
    claimDelivery: (merchantId, id, leaseMs, actor) =>
      db.transaction(async (query) => {
        const row = await lockForReplay(query, merchantId, id, actor);
        if (typeof row !== "object") return row;
        const { rows } = await query(CLAIM_ONE, [leaseMs, merchantId, id]);
        return (await toClaims(query, rows))[0]!.claim;
      }),
    requestReplay: (merchantId, id, actor) =>
      db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "shares");
        const row = await lockForReplay(query, merchantId, id, actor);
        if (typeof row !== "object") return row ?? "unknown";
        await query(
          `UPDATE events SET status = 'pending', step = 0, next_attempt_at = $3, due_real = NULL, ready = true,
             claimed = false WHERE merchant_id = $1 AND id = $2`,
          [merchantId, id, sandboxTime(merchant, merchant.now)],
        );
        return "requested";
      }),
    async renewClaims(claims, leaseMs) {
      if (claims.length === 0) return;
      const sql = `UPDATE events e SET due_real = :now + $4::bigint
        FROM ${unnested(["text", "text", "bigint"])} AS claim (merchant_id, id, token)
        WHERE e.merchant_id = claim.merchant_id AND e.id = claim.id AND e.claimed AND e.claim_token = claim.token`;
      const columns = [
        claims.map(({ event }) => event.merchantId),
        claims.map(({ event }) => event.id),
        claims.map(({ token }) => token),
      ];
      await db.transaction((query) => query(sql, [...columns, leaseMs]), { repeatable: true });
    },
    recordAttempt: (claim, attempt, next) => db.transaction((query) => recordAttempt(query, claim, attempt, next)),
  };
}

/** Locks a delivery and records its replay, unless there is none or an attempt is in progress. */
async function lockForReplay(query: Query, merchantId: string, id: string, actor: Actor) {
  const [row] = (await query(LOCK_ONE, [merchantId, id])).rows;
  if (!row) return undefined;
  if (row.is_underway) return "claimed" as const;
  const details = { delivery: id, status: row.status as string };
  await recordAction(query, { actor, action: "delivery.replay", merchantId, details });
  return row;
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
