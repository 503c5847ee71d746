import { setTimeout as sleep } from "node:timers/promises";
import type { Actor } from "../domain/audit.ts";
import type { Clock } from "../domain/clock.ts";
import type { DeliveryQueue, Delivery, EventLog } from "../domain/deliveries.ts";
import { InProgress } from "../domain/in-progress.ts";

/** How long a request waits for the attempt: an attempt takes at most 15 s. */
const WAIT_MS = 20_000;
/**
 * How many requests may wait, of which one merchant alone gets 35 (`InProgress`). Further requests get a response at once,
 * and their deliveries are attempted like all other deliveries.
 */
const MOST_WAITING = { total: 80 };
/** The pauses between two looks at the delivery, in real milliseconds. Any process may make the attempt. */
const PAUSES_MS = { first: 10, longest: 1_000 };

interface SingleReplayOptions {
  storage: Pick<DeliveryQueue, "requestReplay"> & Pick<EventLog, "findDelivery">;
  clock: Clock;
  stopping: AbortSignal;
  /** Called when a delivery has become ready. */
  onReady(): void;
}

/**
 * Returns a function that replays one delivery (D13): it makes the delivery ready, and waits for the attempt if a server
 * makes it soon. The attempt has no privilege: it waits for room at its receiver like every other attempt.
 */
export function createSingleReplay({ storage, clock, stopping, onReady }: SingleReplayOptions) {
  const waiting = new InProgress(MOST_WAITING, clock);

  /** Waits until the delivery has an attempt with a number greater than `last`. */
  async function untilAttempted(merchantId: string, id: string, last: number): Promise<void> {
    const until = clock.monotonic() + WAIT_MS;
    for (let pause = PAUSES_MS.first; !stopping.aborted && clock.monotonic() < until; pause *= 2) {
      const delivery = await storage.findDelivery(merchantId, id);
      if (!delivery || lastAttempt(delivery) > last) return;
      await sleep(Math.min(pause, PAUSES_MS.longest), undefined, { signal: stopping }).catch(() => undefined);
    }
  }

  return async (merchantId: string, id: string, actor: Actor): Promise<"requested" | "claimed" | "unknown"> => {
    const before = await storage.findDelivery(merchantId, id);
    const result = await storage.requestReplay(merchantId, id, actor);
    if (result !== "requested") return result;
    onReady();
    if (waiting.hasRoom({ merchantId }))
      await waiting.run(merchantId, () => untilAttempted(merchantId, id, lastAttempt(before)));
    return "requested";
  };
}

const lastAttempt = (delivery: Delivery | undefined): number => delivery?.attempts.at(-1)?.number ?? 0;
