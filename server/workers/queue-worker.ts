import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { InProgress } from "../domain/in-progress.ts";
import type { Claim, Lane, Queue } from "../domain/deliveries.ts";
import { startLoop, untilDone, type Loop } from "./loop.ts";

/**
 * Three intervals: of the search for ready entries, at which the claims of attempts in progress are renewed, and of the
 * search for lapsed claims.
 */
const CLAIM_EVERY_MS = 100;
const RENEW_EVERY_MS = 1_000;
const END_LAPSED_EVERY_MS = 200;

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
/** Limits of one scan: entries made ready, lanes read per query, lanes read in total, and entries claimed. */
const PROMOTED_PER_SCAN = 250;
const LANES_PER_PAGE = 16;
const LANES_PER_SCAN = 512;
const CLAIMED_PER_SCAN = 64;
/** How many attempts begin in a turn of the event loop, so that requests do not wait for all of them. */
const BEGUN_PER_TURN = 4;
/** Sorts after every host. */
const LAST_HOST = "\uffff";

/** A claim, and the time of this process's counter until which the process may rely on it. */
type HeldClaim<C extends Claim> = C & { heldUntil: number };

export interface QueueWorkerOptions<C extends Claim> {
  queue: Queue<C>;
  clock: Clock;
  /** Limits the attempts in progress. An entry that has no room stays ready in the storage. */
  attempts: InProgress;
  log: Logger;
  stopping: AbortSignal;
  /** True if attempts to this host may be made now. */
  serves?(host: string): boolean;
  /**
   * Makes an attempt and records it. An attempt that a stop of the server has ended, or whose claim lapsed, need not be
   * recorded: when the lease has ended, the entry is claimed and attempted again.
   */
  attempt(entry: Underway<C>): Promise<void>;
}

/** This process's part of the work that several processes on one database share. */
interface Share {
  /** False if other processes search for entries. */
  searches: boolean;
  /** True if another process could take over the claims of this one. */
  isShared: boolean;
  draining: AbortSignal;
}

/** An attempt in progress. The claim is replaced if the lease expires and this process claims the delivery again. */
export interface Underway<C extends Claim> {
  claim: HeldClaim<C>;
  /** Ends the attempt. */
  ending: AbortController;
  /** True if the attempt was ended because its claim lapsed. */
  hasLapsed: boolean;
  ended: Promise<void>;
}

export type QueueWorker = ReturnType<typeof createQueueWorker>;

/**
 * Makes the attempts of a queue: of deliveries, or of hand-overs to rails. Attempts each entry at least once: a claimed entry
 * without a recorded attempt is claimed again.
 */
export function createQueueWorker<C extends Claim>(options: QueueWorkerOptions<C>) {
  const { queue, clock, attempts, serves, log, stopping } = options;
  let search: Loop | undefined;
  let keeping: Loop[] = [];
  const underway = new Map<string, Underway<C>>();
  const hasLapsed = ({ heldUntil }: HeldClaim<C>) => heldUntil <= clock.counter();

  /**
   * Starts the attempt of a claimed entry. Returns false if an attempt is already in progress in this process, which
   * continues under the new claim, or if the claim arrived too late: the claim then lapses.
   */
  function start(claim: HeldClaim<C>): boolean {
    if (hasLapsed(claim)) return false;
    const { id, lane } = claim;
    const current = underway.get(id);
    if (current) {
      current.claim = claim;
      return false;
    }
    const entry: Underway<C> = { claim, ending: new AbortController(), hasLapsed: false, ended: Promise.resolve() };
    attempts.begin(lane);
    underway.set(id, entry);
    entry.ended = make(entry);
    return true;
  }

  async function make(entry: Underway<C>): Promise<void> {
    const { id, lane } = entry.claim;
    try {
      if (!stopping.aborted) await options.attempt(entry);
    } catch (error) {
      log.error({ err: error, entry: id }, "an attempt could not be recorded");
    }
    attempts.end(lane);
    underway.delete(id);
    // The limits may now allow another attempt.
    search?.wake();
  }

  /** The lane after which the next scan continues, so that every lane gets its turn. */
  let place: Lane | undefined;

  /** Scans the lanes for ready entries, and claims as many as the limits allow. */
  async function claimNext(): Promise<HeldClaim<C>[]> {
    if (!attempts.hasRoom()) return [];
    await queue.promoteDue(PROMOTED_PER_SCAN);
    for (let scanned = 0; scanned < LANES_PER_SCAN; scanned += LANES_PER_PAGE) {
      const after = place;
      const lanes = await queue.readyLanes({ limit: LANES_PER_PAGE, ...(after && { after }) });
      const plan = attempts.plan(serves ? lanes.filter(({ host }) => serves(host)) : lanes, CLAIMED_PER_SCAN);
      const heldUntil = clock.counter() + HELD_MS;
      const claimed = plan.length > 0 ? await queue.claim(plan, LEASE_MS) : [];
      place = lanes[LANES_PER_PAGE - 1];
      // Of a merchant without room, skip the other lanes.
      if (place && !attempts.hasRoom({ merchantId: place.merchantId })) place = { ...place, host: LAST_HOST };
      // At the end of the lanes, continue with the first lane, unless the scan started there.
      if (claimed.length > 0 || (!place && !after)) return claimed.map((claim) => ({ ...claim, heldUntil }));
      // Let requests run in between, because a page takes a while when none of its lanes has room.
      await nextTurn();
    }
    return [];
  }

  async function claimAndStart(): Promise<number> {
    let begun = 0;
    for (const claim of await claimNext()) {
      if (!start(claim)) continue;
      begun += 1;
      if (begun % BEGUN_PER_TURN === 0) await nextTurn();
    }
    return begun;
  }

  // Scans run one at a time, because concurrent scans would use the same free capacity twice.
  let scanning: Promise<unknown> = Promise.resolve();

  /** Claims as many ready entries as the limits allow and starts their attempts. Resolves with their number. */
  function begin(): Promise<number> {
    const begun = scanning.then(claimAndStart);
    scanning = begun.catch(() => {});
    return begun;
  }

  /** Renews the claims of the attempts in progress. */
  async function renew() {
    const claims = [...underway.values()].map(({ claim }) => claim);
    const heldUntil = clock.counter() + HELD_MS;
    await queue.renew(claims, LEASE_MS);
    for (const claim of claims) claim.heldUntil = heldUntil;
  }

  /** Ends the attempts whose claims could not be renewed in time, because another process may soon make them. */
  function endLapsed() {
    for (const entry of underway.values()) {
      if (!hasLapsed(entry.claim)) continue;
      entry.hasLapsed = true;
      entry.ending.abort();
    }
  }

  /** Resolves when no attempt is in progress. */
  async function idle() {
    while (underway.size > 0) await Promise.all([...underway.values()].map(({ ended }) => ended));
  }

  return {
    begin,
    renew,
    endLapsed,
    idle,
    /** Begins to search for entries, and to keep the claims of attempts. */
    start({ searches, isShared, draining }: Share) {
      const pace = { clock, log };
      if (searches)
        search = startLoop(() => untilDone(draining, async () => (await begin()) > 0), CLAIM_EVERY_MS, pace);
      // A process that does not search also attempts deliveries, which a move of a merchant's clock makes due.
      keeping = [startLoop(renew, RENEW_EVERY_MS, pace)];
      if (isShared) keeping.push(startLoop(async () => endLapsed(), END_LAPSED_EVERY_MS, pace));
    },
    /** Searches at once, because entries have become ready. */
    wake: () => search?.wake(),
    /** Ends the search for entries. */
    drain: async () => search?.stop(),
    /** Ends the attempts in progress, because the server stops. */
    end() {
      for (const { ending } of underway.values()) ending.abort(new Error("The server stopped meanwhile."));
    },
    /** Waits for the attempts in progress. */
    async stop() {
      await idle();
      await Promise.all(keeping.map((loop) => loop.stop()));
    },
  };
}
