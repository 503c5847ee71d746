import { EventEmitter, once } from "node:events";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { Claimed, Queue } from "../domain/queues.ts";
import type { Turns } from "../sharing/turns.ts";
import type { Fairness } from "../webhooks/fairness.ts";
import { createScan, HELD_MS, LEASE_MS, type HeldClaim } from "./scan.ts";

/**
 * Two intervals: at which the claims of attempts in progress are renewed, and at which the worker searches for lapsed
 * claims.
 */
export const RENEW_EVERY_MS = 1_000;
export const END_LAPSED_EVERY_MS = 200;

/** Makes the attempts of a queue: of deliveries, or of hand-overs to rails. */
export interface QueueWorker {
  /** Claims as many ready entries as the limits allow and starts their attempts. Returns their number. */
  begin(merchantId?: string): Promise<number>;
  /** Resolves when all attempts now in progress have been recorded. */
  idle(): Promise<void>;
  /** Resolves with true when an attempt of this merchant ends, or immediately with false if none is in progress. */
  nextEnd(merchantId: string): Promise<boolean>;
  /** Renews the claims of the attempts in progress. Call it every `RENEW_EVERY_MS`. */
  renew(): Promise<void>;
  /**
   * Ends the attempts whose claims could not be renewed in time, because another process may soon make them. Call it
   * every `END_LAPSED_EVERY_MS`.
   */
  endLapsed(): void;
  /** Ends the attempts in progress, because the server stops. */
  end(): void;
  /**
   * Gives up the claims whose attempts a stop has prevented, so that another process makes them at once. Call it when
   * no attempt is in progress.
   */
  giveUp(): Promise<void>;
  /** True while this process attempts the entry. */
  isUnderway(id: string): boolean;
  /** Resolves when an attempt of the entry ends in this process, or the signal is aborted. */
  attemptOf(id: string, signal: AbortSignal): Promise<void>;
}

export interface QueueWorkerOptions<C extends Claimed> {
  queue: Queue<C>;
  clock: Clock;
  fairness: Fairness;
  /** Decides when each attempt begins. */
  turns: Turns;
  log: Logger;
  stopping: AbortSignal;
  /** True if attempts to this host may be made now. */
  serves?(host: string): boolean;
  /**
   * Makes an attempt and records it. Resolves with false, and records nothing, if a stop of the server prevented the
   * attempt. An attempt whose claim lapsed need not be recorded: the entry is claimed and attempted again.
   */
  attempt(entry: Underway<C>): Promise<boolean>;
  /** Called when an attempt has ended, because the limits may now allow another. */
  onEnd(): void;
}

/** An attempt in progress. The claim is replaced if the lease expires and this process claims the delivery again. */
export interface Underway<C extends Claimed> {
  claim: HeldClaim<C>;
  /** Ends the attempt. */
  ending: AbortController;
  /** True if the attempt was ended because its claim lapsed. */
  hasLapsed: boolean;
  ended: Promise<void>;
}

/** Attempts each entry at least once: a claimed entry without a recorded attempt is claimed again. */
export function createQueueWorker<C extends Claimed>(options: QueueWorkerOptions<C>): QueueWorker {
  const { queue, clock, fairness, log, stopping } = options;
  const underway = new Map<string, Underway<C>>();
  const prevented: C[] = [];
  /** Emits the id of each entry whose attempt has ended. */
  const ends = new EventEmitter().setMaxListeners(0);
  const hasLapsed = ({ heldUntil }: HeldClaim<C>) => heldUntil <= clock.counter();

  /**
   * Starts the attempt of a claimed entry. If an attempt is already in progress in this process, it continues under
   * the new claim, and the result is undefined. The result is also undefined if the claim arrived too late: the claim
   * then lapses.
   */
  function start(claim: HeldClaim<C>): Promise<void> | undefined {
    if (hasLapsed(claim)) return undefined;
    const { id, lane } = claim;
    const current = underway.get(id);
    if (current) {
      current.claim = claim;
      return undefined;
    }
    const entry: Underway<C> = { claim, ending: new AbortController(), hasLapsed: false, ended: Promise.resolve() };
    const makeOne = async () => {
      // The claim may have lapsed while the attempt waited for its turn. The entry is then claimed again.
      if (entry.hasLapsed || hasLapsed(entry.claim)) return;
      if (stopping.aborted || !(await options.attempt(entry))) prevented.push(entry.claim);
    };
    const attempt = fairness.run(lane, makeOne, options.turns.take(lane.merchantId, "webhooks"));
    entry.ended = attempt
      .catch((error: unknown) => log.error({ err: error, entry: id }, "an attempt could not be recorded"))
      .finally(() => {
        underway.delete(id);
        ends.emit(id);
        options.onEnd();
      });
    underway.set(id, entry);
    return attempt;
  }

  const scan = createScan(options);

  async function claimAndStart(merchantId: string | undefined): Promise<number> {
    const claimed = await scan(merchantId);
    return claimed.filter((claim) => start(claim)?.catch(() => {})).length;
  }

  // Scans run one at a time, because concurrent scans would use the same free capacity twice.
  let scanning: Promise<unknown> = Promise.resolve();

  const inProgress = (merchantId?: string) =>
    [...underway.values()]
      .filter(({ claim }) => merchantId === undefined || claim.lane.merchantId === merchantId)
      .map(({ ended }) => ended);

  return {
    begin(merchantId) {
      const begun = scanning.then(() => claimAndStart(merchantId));
      scanning = begun.catch(() => {});
      return begun;
    },
    async idle() {
      await Promise.all(inProgress());
    },
    async nextEnd(merchantId) {
      const attempts = inProgress(merchantId);
      if (attempts.length > 0) await Promise.race(attempts);
      return attempts.length > 0;
    },
    async renew() {
      const claims = [...underway.values()].map(({ claim }) => claim);
      const heldUntil = clock.counter() + HELD_MS;
      await queue.renew(claims, LEASE_MS);
      for (const claim of claims) claim.heldUntil = heldUntil;
    },
    endLapsed() {
      for (const entry of underway.values()) {
        if (!hasLapsed(entry.claim)) continue;
        entry.hasLapsed = true;
        entry.ending.abort();
      }
    },
    end() {
      for (const { ending } of underway.values()) ending.abort(new Error("The server stopped meanwhile."));
    },
    giveUp: () => queue.renew(prevented.splice(0), 0),
    isUnderway: (id) => underway.has(id),
    async attemptOf(id, signal) {
      await once(ends, id, { signal }).catch(() => undefined);
    },
  };
}
