import type { ChaosSwitch } from "../domain/outcomes.ts";
import type { ClaimedDelivery, DeliveryQueue } from "../domain/deliveries.ts";
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

/** Delivers webhooks at least once (D13). */
export function createDeliveryWorker(options: DeliveryOptions): QueueWorker {
  const { storage } = options;
  return createQueueWorker<ClaimedDelivery>({
    ...options,
    queue: {
      promoteDue: (limit) => storage.promoteDue(limit),
      readyLanes: (query) => storage.readyLanes(query),
      claim: (lanes, leaseMs) => storage.claimDeliveries(lanes, leaseMs),
      renew: (claims, leaseMs) => storage.renewClaims(claims, leaseMs),
    },
    attempt: async (entry) => (await makeAttempt(options, entry)) || entry.hasLapsed,
  });
}

/**
 * Sends a webhook, records the result and schedules the next attempt (D13). Resolves with false, and records nothing, if
 * this server ended the attempt, and the receiver did not fail.
 */
async function makeAttempt(
  { storage, clock, sender, chaos, chance, emit, stopping }: DeliveryOptions,
  entry: Underway<ClaimedDelivery>,
): Promise<boolean> {
  const { event, merchant, secrets, url, step, dueAt } = entry.claim;
  const now = clock.now();
  const at = happensAt(merchant, dueAt, now);
  const previous = secrets.previous.filter(({ expiresAt }) => expiresAt > at).map(({ secret }) => secret);
  const message = {
    url,
    id: event.id,
    secrets: [secrets.current, ...previous],
    body: event.body,
  };
  // What the chaos switch loses is not sent (D17).
  const { retryAfter, ...result }: AttemptResult = chaos.strikes(merchant, "lostWebhooksPercent")
    ? { sentAt: now, latencyMs: 0, error: "Lost by the chaos switch." }
    : await sender.send(message, entry.ending);
  const { httpStatus, latencyMs } = result;
  if ((stopping.aborted || entry.hasLapsed) && httpStatus === undefined) return false;
  const next = nextStep(step + 1, at, { ...result, retryAfter }, chance);
  // The delivery may have been claimed again meanwhile. Nothing is recorded if the claim has ended.
  const counted = await storage.recordAttempt({ event, token: entry.claim.token }, { at, ...result }, next);
  emit("attempt", {
    eventId: event.id,
    merchantId: event.merchantId,
    status: next.status,
    httpStatus,
    durationMs: latencyMs,
    delayMs: at - dueAt,
    counted,
  });
  return true;
}
