import type { DeliveryQueue } from "../domain/deliveries.ts";
import type { Lane } from "../domain/queues.ts";

export const ADVANCE_EVERY_MS = 100;
/**
 * How many webhooks a step makes ready: for a receiver 10 at first, that is 100 per second, then twice as many each time,
 * and for all receivers together 2,500 per second. A receiver that cannot keep up fails within the first steps.
 */
const PER_STEP = { first: 10, most: 250 };
/** With fewer waiting deliveries, none is made due earlier. */
const LEAST_WAITING = 10;
/** The most receivers to remember. A receiver that is left out is noticed at its next success. */
const MOST_LANES = 1_000;

interface Options {
  storage: Pick<DeliveryQueue, "advanceRetries">;
  stopping: AbortSignal;
  /** Called when deliveries have become ready. */
  onReady(): void;
}

/** Notices receivers that work again after an outage, and makes their waiting deliveries due earlier (D13). */
export interface Returns {
  /** Notes the result of an attempt. @param step the number of attempts before it in the schedule */
  note(lane: Lane, step: number, isDelivered: boolean): void;
  /** Takes a step for each receiver that works again. Call it every `ADVANCE_EVERY_MS`. */
  advance(): Promise<void>;
}

const keyOf = ({ merchantId, host }: Lane) => `${merchantId} ${host}`;

export function createReturns({ storage, stopping, onReady }: Options): Returns {
  /** The receivers that work again, and how many webhooks their next step makes ready. */
  const lanes = new Map<string, { lane: Lane; size: number }>();

  return {
    note(lane, step, isDelivered) {
      const key = keyOf(lane);
      // A receiver that fails again gets only the attempts of the schedule.
      if (!isDelivered) lanes.delete(key);
      else if (step > 0 && !lanes.has(key) && lanes.size < MOST_LANES) lanes.set(key, { lane, size: PER_STEP.first });
    },
    async advance() {
      let left = PER_STEP.most;
      // The loop reads a copy, because a step moves a receiver to the end of `lanes`.
      const turns = [...lanes];
      for (const [key, { lane, size }] of turns) {
        if (left === 0 || stopping.aborted) return;
        const limit = Math.min(left, size);
        const least = size > PER_STEP.first ? 1 : LEAST_WAITING;
        const advanced = await storage.advanceRetries(lane, { least, limit });
        left -= advanced;
        // A receiver with more waiting webhooks moves to the end of `lanes`, so that receivers take turns.
        const isKnown = lanes.delete(key);
        if (isKnown && advanced === limit) lanes.set(key, { lane, size: 2 * size });
        if (advanced > 0) onReady();
      }
    },
  };
}
