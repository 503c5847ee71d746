import type { ChaosSwitch } from "../domain/chaos.ts";
import type { ClaimedDelivery, DeliveryQueue } from "../domain/deliveries.ts";
import { lostAttempt, prepareAttempt, recordResult, type AttemptContext } from "../webhooks/attempts.ts";
import type { Sender } from "../webhooks/send.ts";
import { createQueueWorker, type QueueWorker, type QueueWorkerOptions, type Underway } from "./queue-worker.ts";

/** After so many failures in a row, the success of a new webhook shows that the receiver works again. */
const OUTAGE = 10;
/** If fewer deliveries wait, they are not made due earlier. */
const LEAST_WAITING = 10;
/** How many waiting deliveries become due with each success: in a receiver that fails again, few lose an attempt. */
const DUE_WITH_SUCCESS = 2;
/** How many receivers to remember. */
const MOST_LANES = 1_000;

type WorkerOptions = Omit<QueueWorkerOptions<ClaimedDelivery>, "queue" | "serves" | "attempt">;
export interface DeliveryOptions extends WorkerOptions, AttemptContext {
  storage: DeliveryQueue;
  sender: Pick<Sender, "send">;
  chaos: ChaosSwitch;
}

/** Delivers webhooks at least once (D13). */
export function createDeliveryWorker(options: DeliveryOptions): QueueWorker {
  const { storage } = options;
  const noteResult = afterOutages(options);
  return createQueueWorker({
    ...options,
    queue: {
      promoteDue: (limit, merchantId) => storage.promoteDue(limit, merchantId),
      readyLanes: (query) => storage.readyLanes(query),
      claim: (lanes, leaseMs) => storage.claimDeliveries(lanes, leaseMs),
      renew: (claims, leaseMs) => storage.renewClaims(claims, leaseMs),
    },
    attempt: (entry) => makeAttempt(options, noteResult, entry),
  });
}

async function makeAttempt(
  options: DeliveryOptions,
  noteResult: ReturnType<typeof afterOutages>,
  entry: Underway<ClaimedDelivery>,
): Promise<boolean> {
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
  // The attempt is recorded. What waits otherwise comes when it is due.
  await noteResult(entry.claim, status === "delivered").catch((error: unknown) =>
    options.log.warn({ err: error }, "deliveries that wait could not be made due earlier"),
  );
  return true;
}

/**
 * Returns a function that notices receivers that work again after an outage, and makes their waiting deliveries due
 * earlier (D13): with each success two more, until the receiver fails again or none waits.
 */
function afterOutages({ storage, onEnd }: Pick<DeliveryOptions, "storage" | "onEnd">) {
  /** The failures of receivers since their last success. */
  const failures = new Map<string, number>();
  /** The receivers that work again. */
  const recovering = new Set<string>();

  return async ({ lane, step }: Pick<ClaimedDelivery, "lane" | "step">, isDelivered: boolean): Promise<void> => {
    const key = `${lane.merchantId} ${lane.host}`;
    const failed = failures.get(key) ?? 0;
    if (!isDelivered) {
      recovering.delete(key);
      if (failed > 0 || failures.size < MOST_LANES) failures.set(key, failed + 1);
      return;
    }
    failures.delete(key);
    const isKnown = recovering.has(key);
    if (!isKnown && step === 0 && failed < OUTAGE) return;
    const least = isKnown ? 1 : LEAST_WAITING;
    const advanced = await storage.advanceRetries(lane, { least, limit: DUE_WITH_SUCCESS });
    if (advanced === 0) recovering.delete(key);
    else if (recovering.size < MOST_LANES) recovering.add(key);
    if (advanced > 0) onEnd();
  };
}
