import type { DeliveryQueue } from "../../domain/deliveries.ts";
import { sandboxTime } from "../../domain/time.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Query } from "./query.ts";

/**
 * Changes selected events, except those that another process is changing. PostgreSQL gets arrays, because it expects a few
 * elements of an array, and so uses the index; for a join it may expect many rows and read the whole table.
 */
const update = (changes: string, which: string): Query["text"] => ({
  sqlite: `UPDATE events SET ${changes} WHERE seq IN (SELECT seq FROM events WHERE ${which})`,
  postgres: `WITH due AS MATERIALIZED (SELECT merchant_id, id FROM events WHERE ${which} FOR UPDATE SKIP LOCKED)
    UPDATE events SET ${changes} WHERE merchant_id = ANY(ARRAY(SELECT merchant_id FROM due)) AND id = ANY(ARRAY(SELECT id FROM due))`,
});

const CURRENT = "(SELECT epoch FROM merchants WHERE id = :merchant)";
/** Whether a retry is due, or a lease has ended. The first condition is the range of the index. */
const DUE = `due_real <= greatest((SELECT :now), :leased)
  AND due_real <= CASE WHEN claimed THEN :leased ELSE (SELECT :now) END`;
/** Without ORDER BY, PostgreSQL expects to find a row soon and reads the whole table. */
const ANY_DUE = `SELECT 1 FROM events WHERE ${DUE} ORDER BY due_real LIMIT 1`;
const READY = "ready = true, claimed = false, due_real = NULL";
const PROMOTE = update(READY, `${DUE} ORDER BY due_real LIMIT :limit`);
const PROMOTE_OF_MERCHANT = update(
  READY,
  `merchant_id = :merchant AND epoch = ${CURRENT}
     AND next_attempt_at <= (SELECT :now + clock_offset FROM merchants WHERE id = :merchant) AND ${DUE}
   ORDER BY next_attempt_at LIMIT :limit`,
);

const WAITING = `merchant_id = :merchant AND host = :host AND due_real IS NOT NULL AND claimed = false
  AND epoch = ${CURRENT} ORDER BY next_attempt_at LIMIT :limit`;
const COUNT_WAITING = `SELECT count(*) AS count FROM (SELECT 1 FROM events WHERE ${WAITING}) AS found`;
const ADVANCE = update("ready = true, due_real = NULL, next_attempt_at = :at, step = greatest(step - 1, 0)", WAITING);

/** Finds a delivery, unless a reset has deleted it. */
const LOCK_ONE = `SELECT e.status, e.claimed AND e.due_real > :leased AS is_underway
  FROM events e JOIN merchants m ON m.id = e.merchant_id AND m.epoch = e.epoch
  WHERE e.merchant_id = :merchant AND e.id = :id AND e.url IS NOT NULL FOR UPDATE OF e`;
/** Makes a delivery due, at the first step of the schedule. */
const RESTART = `UPDATE events SET status = 'pending', step = 0, next_attempt_at = :at, ${READY}
  WHERE merchant_id = :merchant AND id = :id`;
const RENEW = `UPDATE events AS e SET due_real = :leased + :lease::bigint FROM :rows
  WHERE e.merchant_id = given.merchant_id AND e.id = given.id AND e.claimed = true AND e.claim_token = given.token`;

/** The operations that each database implements with its own statements, in `tuned/`. */
type Tuned = "readyLanes" | "recordAttempt";

export function deliveryQueue({ read, write, claim }: Executor): Omit<DeliveryQueue, Tuned> {
  const repeatable = true;
  return {
    async promoteDue(limit, merchant) {
      // Usually nothing is due. Avoid a transaction then.
      if ((await read({ text: ANY_DUE })).length === 0) return 0;
      const promoted = await (merchant === undefined
        ? write(() => run(PROMOTE, { limit }), { commit: "writeUnflushed", repeatable })
        : write(() => run(PROMOTE_OF_MERCHANT, { limit, merchant }), { repeatable }));
      return promoted.count;
    },
    async advanceRetries({ merchantId: merchant, host }, { least, limit }) {
      const [waiting] = await read({ text: COUNT_WAITING, values: { merchant, host, limit: least } });
      if ((waiting!.count as number) < least) return 0;
      return write(
        function* () {
          const locked = yield* lockMerchant(merchant, "shares");
          const at = sandboxTime(locked, locked.now);
          return (yield* run(ADVANCE, { merchant, host, limit, at })).count;
        },
        { commit: "writeUnflushed" },
      );
    },
    // A claim whose outcome is unknown ends with its lease.
    claimDeliveries: (lanes, leaseMs) => write(() => claim(lanes, leaseMs), { commit: "writeUnflushed", repeatable }),
    requestReplay: (merchantId, id, actor) =>
      write(function* () {
        const locked = yield* lockMerchant(merchantId, "shares");
        const [row] = (yield* run(LOCK_ONE, { merchant: merchantId, id })).rows;
        if (!row) return "unknown";
        if (row.is_underway) return "claimed";
        const details = { delivery: id, status: row.status as string };
        yield* recordAction({ actor, action: "delivery.replay", merchantId, details });
        yield* run(RESTART, { merchant: merchantId, id, at: sandboxTime(locked, locked.now) });
        return "requested";
      }),
    async renewClaims(claims, lease) {
      if (claims.length === 0) return;
      const columns = { merchant_id: "text", id: "text", token: "bigint" };
      const values = claims.map(({ event, token }) => ({ merchant_id: event.merchantId, id: event.id, token }));
      const renew = { text: RENEW, values: { lease }, rows: { columns, values } };
      await write(() => runAll([renew]), { commit: "writeUnflushed", repeatable });
    },
  };
}
