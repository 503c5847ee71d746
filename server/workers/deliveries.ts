import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import { receiverOf } from "../domain/events.ts";
import type { ClaimedDelivery, DeliveryQueue, Lane, NextStep } from "../domain/storage.ts";
import { happensAt, sandboxTime } from "../domain/time.ts";
import type { Fairness } from "../webhooks/fairness.ts";
import { nextAttemptDelayMs, verdictOf } from "../webhooks/schedule.ts";
import type { AttemptResult, Sender } from "../webhooks/send.ts";

/**
 * How long a claim lasts, in milliseconds, unless it is renewed. Short, so that another process soon takes over what a
 * dead one had claimed.
 */
const LEASE_MS = 4_000;
/** How often claims of attempts in progress are renewed. */
export const RENEW_EVERY_MS = 1_000;
/** Deliveries that one look makes ready, and lanes that it reads at a time and in all. */
const PROMOTED_PER_LOOK = 1_000;
const LANES_PER_PAGE = 64;
const LANES_PER_LOOK = 512;
/** Sorts behind every host. */
const LAST_HOST = "\uffff";

export interface DeliveryWorker {
  /** Claims the ready deliveries that there is room for and starts the attempts; returns how many. */
  begin(merchantId?: string): Promise<number>;
  /** Resolves when the attempts that are now in progress have ended and are recorded. */
  idle(): Promise<void>;
  /** Resolves when an attempt of this merchant ends; immediately with false if none is in progress. */
  nextEnd(merchantId: string): Promise<boolean>;
  /** Renews the claims of the attempts in progress. To be called every `RENEW_EVERY_MS`. */
  renew(): Promise<void>;
  /** Makes one attempt of a delivery, whatever its status, and resolves when it is recorded (D31). */
  replay(merchantId: string, id: string): Promise<"attempted" | "claimed" | "unknown">;
}

export interface DeliveryOptions {
  storage: DeliveryQueue;
  clock: Clock;
  sender: Pick<Sender, "send">;
  fairness: Fairness;
  /** From 0 to 1, for the jitter of retries. */
  chance(): number;
  log: Logger;
  stopping: AbortSignal;
  /** Called when an attempt has ended, since there may be room for another. */
  onEnd(): void;
}

/** An attempt in progress. Its claim is replaced if the lease lapses and this process claims the delivery again. */
interface Underway {
  claim: ClaimedDelivery;
  ended: Promise<void>;
}

/** Delivers webhooks at least once: if a claim is not followed by a record, the delivery is claimed again (D13). */
export function createDeliveryWorker(options: DeliveryOptions): DeliveryWorker {
  const { storage, fairness, log } = options;
  const underway = new Map<string, Underway>();

  /** Returns undefined if an attempt of this delivery is in progress here; it goes on under the new claim. */
  function start(claim: ClaimedDelivery): Promise<void> | undefined {
    const { id, merchantId } = claim.event;
    const current = underway.get(id);
    if (current) {
      current.claim = claim;
      return undefined;
    }
    const lane = { merchantId, host: receiverOf(claim.url) };
    const entry: Underway = { claim, ended: Promise.resolve() };
    const attempt = fairness.run(lane, () => makeAttempt(options, entry));
    entry.ended = attempt
      .catch((error: unknown) => log.error({ err: error, event: id }, "an attempt could not be recorded"))
      .finally(() => {
        underway.delete(id);
        options.onEnd();
      });
    underway.set(id, entry);
    return attempt;
  }

  const look = createLook(storage, fairness);

  async function claimAndStart(merchantId: string | undefined): Promise<number> {
    const claimed = await look(merchantId);
    return claimed.map(start).filter((attempt) => attempt?.catch(() => {})).length;
  }

  // One look after the other: two concurrent looks would plan with the same room.
  let looking: Promise<unknown> = Promise.resolve();

  const inProgress = (merchantId?: string) =>
    [...underway.values()]
      .filter(({ claim }) => merchantId === undefined || claim.event.merchantId === merchantId)
      .map(({ ended }) => ended);

  return {
    begin(merchantId) {
      const begun = looking.then(() => claimAndStart(merchantId));
      looking = begun.catch(() => {});
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
    async replay(merchantId, id) {
      if (underway.has(id)) return "claimed";
      const claimed = await storage.claimDelivery(merchantId, id, LEASE_MS);
      if (claimed === undefined) return "unknown";
      if (claimed === "claimed") return "claimed";
      const { dueAt: _, ...claim } = claimed;
      await start({ ...claim, step: 0 });
      return "attempted";
    },
  };
}

/**
 * Looks for ready deliveries lane by lane and claims those that there is room for. Each look starts behind the lane where
 * the one before it stopped, so that every lane gets its turn.
 */
function createLook(storage: DeliveryQueue, fairness: Fairness) {
  let place: Lane | undefined;

  /** Claims from lanes behind `after`; returns where to continue, undefined behind the last lane. */
  async function claimBehind(after: Lane | undefined, merchantId: string | undefined, claimed: ClaimedDelivery[]) {
    const query = { limit: LANES_PER_PAGE, ...(after && { after }), ...(merchantId !== undefined && { merchantId }) };
    const lanes = await storage.readyLanes(query);
    const plan = fairness.plan(lanes);
    if (plan.length > 0) claimed.push(...(await storage.claimDeliveries(plan, LEASE_MS)));
    const last = lanes.at(-1);
    if (!last || lanes.length < LANES_PER_PAGE) return undefined;
    const isFull = fairness.roomOfMerchant(last.merchantId) === 0;
    return isFull ? { merchantId: last.merchantId, host: LAST_HOST } : last;
  }

  return async (merchantId?: string): Promise<ClaimedDelivery[]> => {
    const claimed: ClaimedDelivery[] = [];
    if (fairness.room() === 0) return claimed;
    await storage.promoteDue(PROMOTED_PER_LOOK, merchantId);
    let next = merchantId === undefined ? place : undefined;
    for (let looked = 0; looked < LANES_PER_LOOK && claimed.length < fairness.room(); looked += LANES_PER_PAGE) {
      const startedInside = next !== undefined;
      next = await claimBehind(next, merchantId, claimed);
      // Behind the last lane the look goes on at the first one, unless it began there.
      if (next === undefined && !startedInside) break;
      if (claimed.length > 0) break;
    }
    if (merchantId === undefined) place = next;
    return claimed;
  };
}

async function makeAttempt(options: DeliveryOptions, entry: Underway): Promise<void> {
  const { storage, clock, sender, chance, stopping, log } = options;
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
  // The end of this process cut the attempt off; the receiver did not fail. The claim lapses and the delivery is retried.
  if (stopping.aborted && result.httpStatus === undefined) return;
  const next = nextStep(step + 1, at, { ...result, ...(retryAfter !== undefined && { retryAfter }) }, chance);
  const counted = await storage.recordAttempt(entry.claim, { at, ...result }, next);
  if (!counted) log.info({ event: event.id }, "the claim of an attempt had lapsed; its result does not count");
}

/** What follows from an attempt (D13). */
function nextStep(step: number, at: number, result: AttemptResult, chance: () => number): NextStep {
  const verdict = verdictOf(result.httpStatus);
  if (verdict !== "failed") return { status: verdict, step };
  const { httpStatus, retryAfter, sentAt, latencyMs } = result;
  const delay = nextAttemptDelayMs({ attempts: step, random: chance, httpStatus, retryAfter, now: sentAt });
  return delay === undefined
    ? { status: "exhausted", step }
    : { status: "pending", step, nextAttemptAt: at + latencyMs + delay };
}
