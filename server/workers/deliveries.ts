import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosSwitch } from "../domain/outcomes.ts";
import {
  lastNumber,
  noDelivery,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryQueue,
  type EventLog,
  type NextStep,
} from "../domain/deliveries.ts";
import { InProgress, laneOf } from "../domain/in-progress.ts";
import { signingAt } from "../domain/keys.ts";
import type { Emit } from "../domain/telemetry.ts";
import { happensAt } from "../domain/time.ts";
import { nextStep } from "../webhooks/schedule.ts";
import type { AttemptResult, Sender } from "../webhooks/send.ts";
import { createQueueWorker, type QueueWorker, type QueueWorkerOptions, type Underway } from "./queue-worker.ts";

export interface DeliveryOptions extends Omit<QueueWorkerOptions<ClaimedDelivery>, "queue" | "serves" | "attempt"> {
  storage: DeliveryQueue;
  sender: Pick<Sender, "send">;
  chaos: ChaosSwitch;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of retries. */
  chance(): number;
  emit: Emit;
}

/** How many waiting webhooks of a receiver that works again become ready with each of its successes. */
const READY_WITH_SUCCESS = 2;

/** Delivers webhooks at least once (D13). */
export function createDeliveryWorker(options: DeliveryOptions): QueueWorker {
  const { storage } = options;
  const recovered = new Set<string>();
  return createQueueWorker<ClaimedDelivery>({
    ...options,
    queue: {
      promoteDue: (limit) => storage.promoteDue(limit),
      readyLanes: (query) => storage.readyLanes(query),
      claim: (lanes, leaseMs) => storage.claimDeliveries(lanes, leaseMs),
      renew: (claims, leaseMs) => storage.renewClaims(claims, leaseMs),
    },
    attempt: (entry) => makeAttempt(options, entry, recovered),
  });
}

/**
 * Sends a webhook, records the result and schedules the next attempt (D13). Records nothing if this server ended the
 * attempt, and the receiver did not fail.
 * @param recovered the lanes whose waiting webhooks follow the next success, because the receiver works again, as the
 *   success of a retry showed, or because chaos holds one back; until one fails or none waits
 */
async function makeAttempt(
  { storage, clock, sender, chaos, chance, emit, stopping }: DeliveryOptions,
  entry: Underway<ClaimedDelivery>,
  recovered: Set<string>,
): Promise<void> {
  const { id, body, merchant, secrets, url, step, dueAt, attempts } = entry.claim;
  const lane = laneOf(entry.claim.lane);
  const now = clock.now();
  const at = happensAt(merchant, dueAt, now);
  const { current, previous } = signingAt(at, secrets);
  const message = { url, id, secrets: [current, ...previous.map(({ secret }) => secret)], body };
  // While one webhook of a lane is held back, others pass, so that they overtake it.
  const mayBeHeldBack = attempts.length === 0 && !recovered.has(lane);
  const isHeldBack = mayBeHeldBack && chaos.strikes(merchant, "reorderedWebhooksPercent");
  if (isHeldBack) recovered.add(lane);
  const isLost = !isHeldBack && chaos.strikes(merchant, "lostWebhooksPercent");
  // What the chaos switch holds back or loses is not sent (D17).
  const { retryAfter, ...result }: AttemptResult =
    isHeldBack || isLost
      ? { sentAt: now, latencyMs: 0, error: `${isLost ? "Lost" : "Held back"} by the chaos switch.` }
      : await sender.send(message, entry.ending);
  const { httpStatus, latencyMs } = result;
  if ((stopping.aborted || entry.hasLapsed) && httpStatus === undefined) return;
  const outcome = nextStep(step + 1, at, { ...result, retryAfter }, chance);
  const isDelivered = outcome.status === "delivered";
  const isFirstSuccess = isDelivered && attempts.every(({ error }) => error !== undefined);
  const isRepeated = isFirstSuccess && chaos.strikes(merchant, "repeatedWebhooksPercent");
  const next: NextStep = isRepeated ? { status: "pending", step: 0, nextAttemptAt: at + latencyMs } : outcome;
  const retries = isDelivered && (step > 0 || recovered.has(lane)) ? READY_WITH_SUCCESS : 0;
  // The delivery may have been claimed again meanwhile. Nothing is recorded if the claim has ended.
  const { isValid, hasMadeReady } = await storage.recordAttempt(entry.claim, { at, ...result }, next, retries);
  if (hasMadeReady || isHeldBack) recovered.add(lane);
  else recovered.delete(lane);
  emit("attempt", {
    eventId: id,
    merchantId: merchant.id,
    status: outcome.status,
    durationMs: latencyMs,
    delayMs: at - dueAt,
    counted: isValid,
  });
}

/** How long a request waits for the attempt: an attempt takes at most 15 s. */
const WAIT_MS = 20_000;
/**
 * How many requests may wait, of which one merchant alone gets 35 (`InProgress`). Further requests get a response at once,
 * and their deliveries are attempted like all other deliveries.
 */
const MOST_WAITING = { total: 80 };
/** The pauses between two looks at the delivery, in real milliseconds. Any process may make the attempt. */
const PAUSES_MS = { first: 10, longest: 1_000 };

/**
 * Returns a function that replays one delivery (D13): it makes the delivery ready, and waits for the attempt if a server
 * makes it soon. The attempt has no privilege: it waits for room at its receiver like every other attempt.
 */
export function createReplay(
  { storage, clock, stopping }: Pick<DeliveryOptions, "clock" | "stopping"> & { storage: DeliveryQueue & EventLog },
  worker: Pick<QueueWorker, "wake">,
) {
  const waiting = new InProgress(MOST_WAITING, clock);

  /** Waits until the delivery has an attempt with a number greater than `last`. */
  async function attempted(merchantId: string, id: string, last: number, waitMs: number): Promise<Delivery> {
    const until = clock.monotonic() + waitMs;
    for (let pause = PAUSES_MS.first; ; pause = Math.min(2 * pause, PAUSES_MS.longest)) {
      const delivery = await storage.findDelivery(merchantId, id);
      // A reset may have deleted it meanwhile.
      if (!delivery) throw noDelivery();
      if (lastNumber(delivery.attempts) > last || stopping.aborted || clock.monotonic() >= until) return delivery;
      await sleep(pause, undefined, { signal: stopping }).catch(() => undefined);
    }
  }

  return async (...[merchantId, id, actor]: Parameters<DeliveryQueue["requestReplay"]>): Promise<Delivery> => {
    const last = await storage.requestReplay(merchantId, id, actor);
    worker.wake();
    const wait = (ms: number) => attempted(merchantId, id, last, ms);
    return waiting.hasRoom({ merchantId }) ? waiting.run(merchantId, () => wait(WAIT_MS)) : wait(0);
  };
}
