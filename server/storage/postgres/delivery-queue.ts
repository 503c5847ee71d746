import type { Actor } from "../../domain/audit.ts";
import { LISTENER_HOST } from "../../domain/events.ts";
import type { DeliveryQueue, Lane } from "../../domain/deliveries.ts";
import { sandboxTime } from "../../domain/time.ts";
import { recordAttempt } from "./attempts.ts";
import { recordAction } from "./executor.ts";
import { among, claimLanes, claimOne } from "./claims.ts";
import { unnested, type Context } from "./context.ts";
import type { Query } from "./database.ts";
import type { LockedMerchant } from "../portable/locked-merchant.ts";
import { lockMerchant } from "./merchant-rows.ts";

const PROMOTE = `UPDATE events e SET ready = true, claimed = false, due_real = NULL WHERE ${among("due")}`;
/** Whether a retry is due, or a lease has ended. The first condition is the range of the index. */
const DUE = `due_real <= greatest((SELECT :now), :leased)
    AND due_real <= CASE WHEN claimed THEN :leased ELSE (SELECT :now) END`;
const PROMOTE_ALL = `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM events WHERE ${DUE}
    ORDER BY due_real LIMIT $1 FOR UPDATE SKIP LOCKED)
  ${PROMOTE}`;
const PROMOTE_OF_MERCHANT = `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM events WHERE merchant_id = $2
    AND epoch = (SELECT epoch FROM merchants WHERE id = $2)
    AND next_attempt_at <= (SELECT :now + clock_offset FROM merchants WHERE id = $2) AND ${DUE}
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

const WAITING = `SELECT merchant_id, id FROM events WHERE merchant_id = $1 AND host = $2 AND due_real IS NOT NULL
  AND NOT claimed AND epoch = (SELECT epoch FROM merchants WHERE id = $1) ORDER BY next_attempt_at LIMIT $3`;
const ADVANCE = `WITH due AS MATERIALIZED (${WAITING} FOR UPDATE SKIP LOCKED)
  UPDATE events e SET ready = true, due_real = NULL, next_attempt_at = $4, step = greatest(step - 1, 0)
  WHERE ${among("due")}`;

/** Finds a delivery, unless a reset has deleted it. */
const LOCK_ONE = `SELECT e.*, e.claimed AND e.due_real > :leased AS is_underway
  FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
  WHERE e.merchant_id = $1 AND e.id = $2 AND e.url IS NOT NULL FOR UPDATE OF e`;

export function deliveryQueue({ db }: Context): DeliveryQueue {
  return {
    async promoteDue(limit, merchantId) {
      // Usually nothing is due. Avoid a transaction then. Without the order, PostgreSQL expects to find a row soon and
      // reads the whole table.
      const due = await db.read(`SELECT 1 FROM events WHERE ${DUE} ORDER BY due_real LIMIT 1`);
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
    async advanceRetries({ merchantId, host }, { least, limit }) {
      const { count } = await db.read(WAITING, [merchantId, host, least]);
      if (count < least) return 0;
      return db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "shares");
        const at = sandboxTime(merchant, merchant.now);
        return (await query(ADVANCE, [merchantId, host, limit, at])).count;
      });
    },
    claimDeliveries(lanes, leaseMs) {
      // A claim whose outcome is unknown ends with its lease.
      return db.transaction((query) => claimLanes(query, lanes, leaseMs), { repeatable: true });
    },
    claimDelivery: (merchantId, id, leaseMs, actor) =>
      db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "shares");
        const row = await lockForReplay(query, merchantId, id, actor);
        if (typeof row !== "object") return row;
        if (row.host !== LISTENER_HOST) return claimOne(query, merchantId, id, leaseMs);
        await makeReady(query, merchant, id);
        return "requested";
      }),
    requestReplay: (merchantId, id, actor) =>
      db.transaction(async (query) => {
        const merchant = await lockMerchant(query, merchantId, "shares");
        const row = await lockForReplay(query, merchantId, id, actor);
        if (typeof row !== "object") return row ?? "unknown";
        await makeReady(query, merchant, id);
        return "requested";
      }),
    async renewClaims(claims, leaseMs) {
      if (claims.length === 0) return;
      const sql = `UPDATE events e SET due_real = :leased + $4::bigint
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

/** Makes a delivery due, at the first step of the schedule. */
async function makeReady(query: Query, merchant: LockedMerchant, id: string): Promise<void> {
  await query(
    `UPDATE events SET status = 'pending', step = 0, next_attempt_at = $3, due_real = NULL, ready = true, claimed = false
     WHERE merchant_id = $1 AND id = $2`,
    [merchant.id, id, sandboxTime(merchant, merchant.now)],
  );
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
