import type { ClaimedDelivery, DeliveryQueue, LaneClaim } from "../../domain/deliveries.ts";
import { sandboxTime } from "../../domain/time.ts";
import { toMerchant } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { toEvent } from "./event-rows.ts";
import { run, type Executor, type QueueTable, type Work } from "./query.ts";
import { queueOf, READY, updateSelected, WAITING } from "./queue.ts";
import { secretsQuery, toSecrets } from "./secrets.ts";

export const DELIVERIES: QueueTable = { name: "events", lane: "host", order: "seq" };

const OF_LANE = `merchant_id = :merchant AND host = :host AND ${WAITING} ORDER BY next_attempt_at LIMIT :limit`;
const COUNT_WAITING = `SELECT count(*) AS count FROM (SELECT 1 FROM events WHERE ${OF_LANE}) AS found`;
const ADVANCE = updateSelected("events", "ready = true, next_attempt_at = :now, step = greatest(step - 1, 0)", OF_LANE);

const LOCK_ONE = `SELECT status, leased_until IS NOT NULL AND leased_until > :leased AS is_underway
  FROM events WHERE merchant_id = :merchant AND id = :id AND url IS NOT NULL FOR UPDATE`;
/** Makes a delivery due, at the first step of the schedule. */
const RESTART = `UPDATE events SET status = 'pending', step = 0, next_attempt_at = :now, ${READY}
  WHERE merchant_id = :merchant AND id = :id`;
const MERCHANTS = "SELECT * FROM merchants WHERE id = ANY(:ids::text[])";

/** Claims ready deliveries inside a transaction. Within a lane, deliveries that fell due first are claimed first. */
export function* claimDeliveries(
  { claim, sealing }: Pick<Executor, "claim" | "sealing">,
  lanes: readonly LaneClaim[],
  leaseMs: number,
): Work<ClaimedDelivery[]> {
  const rows = yield* claim(DELIVERIES, lanes, leaseMs);
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.merchant_id))];
  const [found, previous] = yield [{ text: MERCHANTS, values: { ids } }, secretsQuery(ids)];
  const merchants = new Map(found!.rows.map((row) => [row.id, toMerchant(row)]));
  const secrets = toSecrets(previous!.rows, sealing);
  return rows.map((row) => {
    const event = toEvent(row);
    const { id, merchantId } = event;
    const merchant = merchants.get(merchantId)!;
    return {
      lane: { merchantId, host: row.host },
      id,
      event,
      url: row.url,
      token: row.claim_token,
      step: row.step,
      merchant,
      secrets: secrets.get(merchantId)!,
      dueAt: sandboxTime(merchant, row.next_attempt_at as number),
    };
  });
}

/** The operations that each database implements with its own statements, in `tuned/`. */
type Tuned = "readyLanes" | "recordAttempt";

export function deliveryQueue(executor: Executor): Omit<DeliveryQueue, Tuned> {
  const { read, write } = executor;
  const { promoteDue, renew } = queueOf(executor, DELIVERIES);
  return {
    promoteDue,
    renewClaims: renew,
    // A claim whose outcome is unknown ends with its lease.
    claimDeliveries: (lanes, leaseMs) =>
      write(() => claimDeliveries(executor, lanes, leaseMs), { commit: "writeUnflushed", repeatable: true }),
    async advanceRetries({ merchantId: merchant, host }, { least, limit }) {
      const [waiting] = await read({ text: COUNT_WAITING, values: { merchant, host, limit: least } });
      if ((waiting!.count as number) < least) return 0;
      const advanced = await write(() => run(ADVANCE, { merchant, host, limit }), { commit: "writeUnflushed" });
      return advanced.count;
    },
    requestReplay: (merchantId, id, actor) =>
      write(function* () {
        const [row] = (yield* run(LOCK_ONE, { merchant: merchantId, id })).rows;
        if (!row) return "unknown";
        if (row.is_underway) return "claimed";
        const details = { delivery: id, status: row.status };
        yield* recordAction({ actor, action: "delivery.replay", merchantId, details });
        yield* run(RESTART, { merchant: merchantId, id });
        return "requested";
      }),
  };
}
