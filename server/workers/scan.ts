import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import type { Claimed, Lane, LaneClaim, Queue } from "../domain/queues.ts";
import type { Fairness } from "../webhooks/fairness.ts";

/**
 * The lease of a claim in milliseconds. It is short, so that another process soon takes over the deliveries of a dead
 * process. Attempts in progress renew it.
 */
export const LEASE_MS = 4_000;
/**
 * How long this process relies on a lease, counted from before the claim was requested. The lease lasts 1.5 seconds
 * longer, so that another process never attempts the same delivery meanwhile. One second is the accuracy of the counter
 * that measures leases. Half a second is for noticing a lapse and closing the connection.
 */
export const HELD_MS = LEASE_MS - 1_500;
/** Limits of one scan: entries made ready, lanes read per query, and lanes read in total. */
const PROMOTED_PER_SCAN = 250;
const LANES_PER_PAGE = 16;
const LANES_PER_SCAN = 512;
/**
 * How many entries a scan claims: their attempts must have started before the leases end, even if attempts start
 * slowly.
 */
const CLAIMED_PER_SCAN = 64;
/** Sorts after every host. */
const LAST_HOST = "\uffff";

/** A claim, and the time of this process's counter until which the process may rely on it. */
export type HeldClaim<C extends Claimed> = C & { heldUntil: number };

interface Options<C extends Claimed> {
  queue: Queue<C>;
  clock: Clock;
  fairness: Fairness;
  serves?(host: string): boolean;
}

/**
 * Scans the lanes of the hosts that are served for ready entries, and claims as many as the limits allow. Each scan continues after the lane where the previous one stopped, so that every lane gets its turn.
 */
export function createScan<C extends Claimed>({ queue, clock, fairness, serves = () => true }: Options<C>) {
  let place: Lane | undefined;

  /** Claims from the lanes after `after`. `next` is the lane to continue after, or undefined at the end of the lanes. */
  async function claimAfter(after: Lane | undefined, merchantId: string | undefined) {
    const query = { limit: LANES_PER_PAGE, ...(after && { after }), ...(merchantId !== undefined && { merchantId }) };
    const lanes = await queue.readyLanes(query);
    const plan = atMost(CLAIMED_PER_SCAN, fairness.plan(lanes.filter(({ host }) => serves(host))));
    const heldUntil = clock.counter() + HELD_MS;
    const found = plan.length > 0 ? await queue.claim(plan, LEASE_MS) : [];
    const claimed = found.map((claim) => ({ ...claim, heldUntil }));
    const last = lanes.at(-1);
    if (!last || lanes.length < LANES_PER_PAGE) return { claimed, next: undefined };
    const isFull = fairness.roomOfMerchant(last.merchantId) === 0;
    return { claimed, next: isFull ? { merchantId: last.merchantId, host: LAST_HOST } : last };
  }

  return async (merchantId?: string): Promise<HeldClaim<C>[]> => {
    if (fairness.room() === 0) return [];
    await queue.promoteDue(PROMOTED_PER_SCAN, merchantId);
    let after = merchantId === undefined ? place : undefined;
    for (let scanned = 0; scanned < LANES_PER_SCAN; scanned += LANES_PER_PAGE) {
      const { claimed, next } = await claimAfter(after, merchantId);
      if (merchantId === undefined) place = next;
      // At the end of the lanes, continue with the first lane, unless the scan started there.
      if (claimed.length > 0 || (next === undefined && after === undefined)) return claimed;
      after = next;
      // Let requests run in between, because a page takes a while when none of its lanes has room.
      await nextTurn();
    }
    return [];
  };
}

/**
 * Returns the claims up to this number of deliveries. A lane gets more than an equal share only if other lanes need
 * less than theirs.
 */
function atMost(limit: number, claims: readonly LaneClaim[]): LaneClaim[] {
  const equal = Math.ceil(limit / Math.max(1, claims.length));
  let left = limit;
  const shares = claims.map(({ count }) => {
    const share = Math.min(count, equal, left);
    left -= share;
    return share;
  });
  return claims.flatMap((claim, index) => {
    const more = Math.min(left, claim.count - shares[index]!);
    left -= more;
    const count = shares[index]! + more;
    return count > 0 ? [{ ...claim, count }] : [];
  });
}
