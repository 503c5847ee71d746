import type { DeliveryQueue } from "../domain/deliveries.ts";
import type { Lane } from "../domain/queues.ts";

export const ADVANCE_EVERY_MS = 250;
/** The most webhooks that a step makes ready: per second 100 to one receiver, and 200 in all. */
const PER_STEP = { lane: 25, all: 50 };
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
  /** The receivers that work again. `isDraining` is false until their first step. */
  const lanes = new Map<string, { lane: Lane; isDraining: boolean }>();

  return {
    note(lane, step, isDelivered) {
      const key = keyOf(lane);
      // A receiver that fails again gets only the attempts of the schedule.
      if (!isDelivered) lanes.delete(key);
      else if (step > 0 && !lanes.has(key) && lanes.size < MOST_LANES) lanes.set(key, { lane, isDraining: false });
    },
    async advance() {
      let left = PER_STEP.all;
      // A step moves a receiver to the end.
      const turns = [...lanes];
      for (const [key, entry] of turns) {
        if (left === 0 || stopping.aborted) return;
        const limit = Math.min(left, PER_STEP.lane);
        const least = entry.isDraining ? 1 : LEAST_WAITING;
        const advanced = await storage.advanceRetries(entry.lane, { least, limit });
        left -= advanced;
        // While more may be waiting, the receiver moves to the end, so that receivers take turns.
        const isKnown = lanes.delete(key);
        if (isKnown && advanced === limit) lanes.set(key, { ...entry, isDraining: true });
        if (advanced > 0) onReady();
      }
    },
  };
}
