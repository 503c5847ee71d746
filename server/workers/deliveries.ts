import type { ChaosSwitch } from "../domain/outcomes.ts";
import type { ClaimedDelivery, DeliveryQueue, NextStep } from "../domain/deliveries.ts";
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

/** How many waiting webhooks of a receiver that works again become due with each of its successes. */
const DUE_WITH_SUCCESS = 2;

/** Delivers webhooks at least once (D13). */
export function createDeliveryWorker(options: DeliveryOptions): QueueWorker {
  const { storage, log } = options;
  const noteResult = afterOutages(storage, () => worker.wake());
  const worker = createQueueWorker<ClaimedDelivery>({
    ...options,
    queue: {
      promoteDue: (limit) => storage.promoteDue(limit),
      readyLanes: (query) => storage.readyLanes(query),
      claim: (lanes, leaseMs) => storage.claimDeliveries(lanes, leaseMs),
      renew: (claims, leaseMs) => storage.renewClaims(claims, leaseMs),
    },
    async attempt(entry) {
      const status = await makeAttempt(options, entry);
      if (status === undefined) return entry.hasLapsed;
      // The attempt is recorded. What waits otherwise comes when it is due.
      await noteResult(entry.claim, status === "delivered").catch((error: unknown) =>
        log.warn({ err: error }, "deliveries that wait could not be made due earlier"),
      );
      return true;
    },
  });
  return worker;
}

/**
 * Returns a function that notices by a retry that a receiver works again after an outage, and makes its waiting
 * deliveries due earlier (D13): with each success two more, until the receiver fails again or none waits.
 */
function afterOutages(storage: Pick<DeliveryQueue, "advanceRetries">, onReady: () => void) {
  /** The receivers that work again, and may still have waiting deliveries. */
  const recovered = new Set<string>();

  return async ({ lane, step }: Pick<ClaimedDelivery, "lane" | "step">, isDelivered: boolean): Promise<void> => {
    const key = `${lane.merchantId} ${lane.host}`;
    if (isDelivered && (step > 0 || recovered.has(key))) {
      if ((await storage.advanceRetries(lane, DUE_WITH_SUCCESS)) > 0) {
        recovered.add(key);
        return onReady();
      }
    }
    recovered.delete(key);
  };
}

/**
 * Sends a webhook, records the result and schedules the next attempt (D13). Resolves with the delivery's status, or with
 * undefined if this server ended the attempt, and the receiver did not fail.
 */
async function makeAttempt(
  { storage, clock, sender, chaos, chance, emit, stopping }: DeliveryOptions,
  entry: Underway<ClaimedDelivery>,
): Promise<NextStep["status"] | undefined> {
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
  if ((stopping.aborted || entry.hasLapsed) && httpStatus === undefined) return undefined;
  const next = nextStep(step + 1, at, { ...result, retryAfter }, chance);
  // The delivery may have been claimed again meanwhile. Nothing is recorded if the claim has ended.
  const counted = await storage.recordAttempt({ event, token: entry.claim.token }, { at, ...result }, next);
  emit("attempt", {
    eventId: event.id,
    merchantId: event.merchantId,
    status: next.status,
    durationMs: latencyMs,
    delayMs: at - dueAt,
    counted,
  });
  return next.status;
}
