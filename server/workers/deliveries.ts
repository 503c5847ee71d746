import type { ChaosSwitch } from "../domain/chaos.ts";
import type { ClaimedDelivery, DeliveryQueue } from "../domain/deliveries.ts";
import { lostAttempt, prepareAttempt, recordResult, type AttemptContext } from "../webhooks/attempts.ts";
import type { Sender } from "../webhooks/send.ts";
import { createQueueWorker, type QueueWorker, type QueueWorkerOptions, type Underway } from "./queue-worker.ts";
import type { Returns } from "./returns.ts";

type WorkerOptions = Omit<QueueWorkerOptions<ClaimedDelivery>, "queue" | "serves" | "attempt">;
export interface DeliveryOptions extends WorkerOptions, AttemptContext {
  storage: DeliveryQueue;
  sender: Pick<Sender, "send">;
  chaos: ChaosSwitch;
  /** Is told the result of each attempt. */
  returns?: Pick<Returns, "note">;
}

/** Delivers webhooks at least once (D13). */
export function createDeliveryWorker(options: DeliveryOptions): QueueWorker {
  const { storage } = options;
  return createQueueWorker({
    ...options,
    queue: {
      promoteDue: (limit, merchantId) => storage.promoteDue(limit, merchantId),
      readyLanes: (query) => storage.readyLanes(query),
      claim: (lanes, leaseMs) => storage.claimDeliveries(lanes, leaseMs),
      renew: (claims, leaseMs) => storage.renewClaims(claims, leaseMs),
    },
    attempt: (entry) => makeAttempt(options, entry),
  });
}

async function makeAttempt(options: DeliveryOptions, entry: Underway<ClaimedDelivery>): Promise<boolean> {
  const { clock, sender, chaos, stopping } = options;
  const now = clock.now();
  const { attempted, message } = prepareAttempt(entry.claim, options, now);
  const isLost = chaos.strikes(entry.claim.merchant, "lostWebhooksPercent");
  const result = isLost ? lostAttempt(now) : await sender.send(message, entry.ending);
  // The stop of the server aborted the attempt, and the receiver did not fail.
  if (stopping.aborted && result.httpStatus === undefined) return false;
  if (entry.hasLapsed && result.httpStatus === undefined) return true;
  // The delivery may have been claimed again meanwhile.
  const { status } = await recordResult(options, { ...attempted, token: entry.claim.token }, result);
  const { lane, step } = entry.claim;
  options.returns?.note(lane, step, status === "delivered");
  return true;
}
