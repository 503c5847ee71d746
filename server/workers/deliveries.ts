import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { Actor } from "../domain/audit.ts";
import type { Clock } from "../domain/clock.ts";
import { receiverOf } from "../domain/events.ts";
import type { ClaimedDelivery, DeliveryQueue, Lane, LaneClaim, NextStep } from "../domain/storage.ts";
import type { Emit } from "../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../domain/time.ts";
import type { Fairness } from "../webhooks/fairness.ts";
import { nextAttemptDelayMs, verdictOf } from "../webhooks/schedule.ts";
import type { AttemptResult, Sender } from "../webhooks/send.ts";
import { createYielding } from "./yielding.ts";

/**
 * The lease of a claim in milliseconds. It is short, so that another process soon takes over the deliveries of a dead
 * one. Attempts in progress renew it.
 */
const LEASE_MS = 4_000;
/** The interval at which the claims of attempts in progress are renewed. */
export const RENEW_EVERY_MS = 1_000;
/** Limits of one scan: deliveries made ready, lanes read per query, and lanes read in total. */
const PROMOTED_PER_SCAN = 250;
const LANES_PER_PAGE = 16;
const LANES_PER_SCAN = 512;
/** The most claims of one scan: their attempts must have started before the leases end, even if they start slowly. */
const CLAIMED_PER_SCAN = 64;
/** How many attempts may start in one turn of the event loop. */
const STARTED_PER_TURN = 2;
/** Sorts after every host. */
const LAST_HOST = "\uffff";

export interface DeliveryWorker {
  /** Claims as many ready deliveries as the limits allow and starts their attempts. Returns their number. */
  begin(merchantId?: string): Promise<number>;
  /** Resolves when all attempts now in progress have been recorded. */
  idle(): Promise<void>;
  /** Resolves with true when an attempt of this merchant ends, or immediately with false if none is in progress. */
  nextEnd(merchantId: string): Promise<boolean>;
  /** Renews the claims of the attempts in progress. Call it every `RENEW_EVERY_MS`. */
  renew(): Promise<void>;
  /**
   * Gives up the claims whose attempts a stop has prevented, so that another process makes them at once. Call it when
   * no attempt is in progress.
   */
  giveUp(): Promise<void>;
  /** Makes one attempt of a delivery, in any status, and resolves when the attempt is recorded (D31). */
  replay(merchantId: string, id: string, actor: Actor): Promise<"attempted" | "claimed" | "unknown">;
}

export interface DeliveryOptions {
  storage: DeliveryQueue;
  clock: Clock;
  sender: Pick<Sender, "send">;
  fairness: Fairness;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of retries. */
  chance(): number;
  log: Logger;
  emit: Emit;
  stopping: AbortSignal;
  /** Called when an attempt has ended, because the limits may now allow another. */
  onEnd(): void;
}

/** An attempt in progress. Its claim is replaced if the lease expires and this process claims the delivery again. */
interface Underway {
  claim: ClaimedDelivery;
  ended: Promise<void>;
}

/** Delivers webhooks at least once: a claimed delivery without a recorded attempt is claimed again (D13). */
export function createDeliveryWorker(options: DeliveryOptions): DeliveryWorker {
  const { storage, fairness, log } = options;
  const underway = new Map<string, Underway>();
  const prevented: ClaimedDelivery[] = [];

  /**
   * Starts the attempt of a claimed delivery. If an attempt is already in progress in this process, it continues under
   * the new claim, and the result is undefined.
   */
  function start(claim: ClaimedDelivery): Promise<void> | undefined {
    const { id, merchantId } = claim.event;
    const current = underway.get(id);
    if (current) {
      current.claim = claim;
      return undefined;
    }
    const lane = { merchantId, host: receiverOf(claim.url) };
    const entry: Underway = { claim, ended: Promise.resolve() };
    const attempt = fairness.run(lane, async () => {
      if (!(await makeAttempt(options, entry))) prevented.push(entry.claim);
    });
    entry.ended = attempt
      .catch((error: unknown) => log.error({ err: error, event: id }, "an attempt could not be recorded"))
      .finally(() => {
        underway.delete(id);
        options.onEnd();
      });
    underway.set(id, entry);
    return attempt;
  }

  const scan = createScan(storage, fairness);
  const giveWay = createYielding();

  async function claimAndStart(merchantId: string | undefined): Promise<number> {
    const claimed = await scan(merchantId);
    let started = 0;
    for (const [index, claim] of claimed.entries()) {
      // Let requests in between: the first attempts of a thousand receivers would block the event loop together.
      if (index % STARTED_PER_TURN === STARTED_PER_TURN - 1) await (merchantId === undefined ? giveWay() : nextTurn());
      if (options.stopping.aborted) {
        prevented.push(...claimed.slice(index));
        break;
      }
      if (start(claim)?.catch(() => {})) started += 1;
    }
    return started;
  }

  // Scans run one at a time, because concurrent scans would use the same free capacity twice.
  let scanning: Promise<unknown> = Promise.resolve();

  const inProgress = (merchantId?: string) =>
    [...underway.values()]
      .filter(({ claim }) => merchantId === undefined || claim.event.merchantId === merchantId)
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
    renew: () =>
      storage.renewClaims(
        [...underway.values()].map(({ claim }) => claim),
        LEASE_MS,
      ),
    giveUp: () => storage.renewClaims(prevented.splice(0), 0),
    async replay(merchantId, id, actor) {
      if (underway.has(id)) return "claimed";
      const claimed = await storage.claimDelivery(merchantId, id, LEASE_MS, actor);
      if (claimed === undefined) return "unknown";
      if (claimed === "claimed") return "claimed";
      const { dueAt: _, ...claim } = claimed;
      await start({ ...claim, step: 0 });
      return "attempted";
    },
  };
}

/**
 * Scans the lanes for ready deliveries and claims as many as the limits allow. Each scan continues after the lane where
 * the previous one stopped, so that every lane gets its turn.
 */
function createScan(storage: DeliveryQueue, fairness: Fairness) {
  let place: Lane | undefined;

  /** Claims from the lanes after `after`. `next` is the lane to continue after, or undefined at the end of the lanes. */
  async function claimAfter(after: Lane | undefined, merchantId: string | undefined) {
    const query = { limit: LANES_PER_PAGE, ...(after && { after }), ...(merchantId !== undefined && { merchantId }) };
    const lanes = await storage.readyLanes(query);
    const plan = atMost(CLAIMED_PER_SCAN, fairness.plan(lanes));
    const claimed = plan.length > 0 ? await storage.claimDeliveries(plan, LEASE_MS) : [];
    const last = lanes.at(-1);
    if (!last || lanes.length < LANES_PER_PAGE) return { claimed, next: undefined };
    const isFull = fairness.roomOfMerchant(last.merchantId) === 0;
    return { claimed, next: isFull ? { merchantId: last.merchantId, host: LAST_HOST } : last };
  }

  return async (merchantId?: string): Promise<ClaimedDelivery[]> => {
    if (fairness.room() === 0) return [];
    await storage.promoteDue(PROMOTED_PER_SCAN, merchantId);
    let after = merchantId === undefined ? place : undefined;
    for (let scanned = 0; scanned < LANES_PER_SCAN; scanned += LANES_PER_PAGE) {
      const { claimed, next } = await claimAfter(after, merchantId);
      if (merchantId === undefined) place = next;
      // At the end of the lanes, continue with the first one, unless the scan started there.
      if (claimed.length > 0 || (next === undefined && after === undefined)) return claimed;
      after = next;
      // Let requests in between: each page takes a while when none of its lanes has room.
      await nextTurn();
    }
    return [];
  };
}

/** Returns the claims up to this number of deliveries. */
function atMost(limit: number, claims: readonly LaneClaim[]): LaneClaim[] {
  let left = limit;
  return claims.flatMap((claim) => {
    const count = Math.min(left, claim.count);
    left -= count;
    return count > 0 ? [{ ...claim, count }] : [];
  });
}

/** Makes an attempt and records it. Resolves with false, and records nothing, if a stop of the server prevented it. */
async function makeAttempt(options: DeliveryOptions, entry: Underway): Promise<boolean> {
  const { storage, clock, sender, chance, stopping, emit } = options;
  const { event, merchant, secrets, url, step, dueAt } = entry.claim;
  const now = clock.now();
  const at = dueAt === undefined ? sandboxTime(merchant, now) : happensAt(merchant, dueAt, now);
  const previous = secrets.previous.filter(({ expiresAt }) => expiresAt > at).map(({ secret }) => secret);
  const { retryAfter, ...result } = await sender.send({
    url,
    id: event.id,
    secrets: [secrets.current, ...previous],
    body: event.body,
  });
  // The stop aborted the attempt; the receiver did not fail.
  if (stopping.aborted && result.httpStatus === undefined) return false;
  const next = nextStep(step + 1, at, { ...result, ...(retryAfter !== undefined && { retryAfter }) }, chance);
  const counted = await storage.recordAttempt(entry.claim, { at, ...result }, next);
  emit("attempt", {
    eventId: event.id,
    merchantId: event.merchantId,
    status: next.status,
    httpStatus: result.httpStatus,
    durationMs: result.latencyMs,
    delayMs: dueAt === undefined ? undefined : at - dueAt,
    counted,
  });
  return true;
}

/** The delivery's state after an attempt (D13). */
function nextStep(step: number, at: number, result: AttemptResult, chance: () => number): NextStep {
  const verdict = verdictOf(result.httpStatus);
  if (verdict !== "failed") return { status: verdict, step };
  const { httpStatus, retryAfter, sentAt, latencyMs } = result;
  const delay = nextAttemptDelayMs({ attempts: step, random: chance, httpStatus, retryAfter, now: sentAt });
  return delay === undefined
    ? { status: "exhausted", step }
    : { status: "pending", step, nextAttemptAt: at + latencyMs + delay };
}
