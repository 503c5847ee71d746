import type { DeliveryQueue } from "../domain/deliveries.ts";
import type { Lane } from "../domain/queues.ts";

export const ADVANCE_EVERY_MS = 100;
/**
 * How many webhooks a step makes ready. A receiver gets 10 after the success of a retry, which is 100 per second, then
 * twice as many each time. All receivers together get 2,500 per second. A receiver that cannot keep up fails within the
 * first steps. After the success of a new webhook the first step makes only one webhook ready, because the receiver may
 * refuse the webhooks that wait.
 */
const PER_STEP = { afterRetry: 10, afterFirst: 1, most: 250 };
/** If fewer deliveries wait, they are not made due earlier. */
const LEAST_WAITING = 10;
/** After so many failures without a success between them, the success of a new webhook shows that the receiver works. */
const OUTAGE = LEAST_WAITING;
/** How many receivers to remember. A receiver that is left out is noticed at the next success of a retry. */
const MOST_LANES = 1_000;

interface Options {
  storage: Pick<DeliveryQueue, "advanceRetries">;
  stopping: AbortSignal;
  /** Called when deliveries have become ready. */
  onReady(): void;
}

/** Notices receivers that work again after an outage, and makes their waiting deliveries due earlier (D13). */
export interface Returns {
  /** Notes the result of an attempt. @param step the number of attempts before this attempt in the schedule */
  note(lane: Lane, step: number, isDelivered: boolean): void;
  /** Takes a step for each receiver that works again. Call it every `ADVANCE_EVERY_MS`. */
  advance(): Promise<void>;
}

const keyOf = ({ merchantId, host }: Lane) => `${merchantId} ${host}`;

export function createReturns({ storage, stopping, onReady }: Options): Returns {
  /** The receivers that work again, and how many webhooks their next step makes ready. */
  const lanes = new Map<string, { lane: Lane; size: number; isFirst: boolean }>();
  /** The failures of receivers since their last success. */
  const failures = new Map<string, number>();

  return {
    note(lane, step, isDelivered) {
      const key = keyOf(lane);
      const failed = failures.get(key) ?? 0;
      if (!isDelivered) {
        // If a receiver fails again, it gets only the attempts of the schedule.
        lanes.delete(key);
        if (failed > 0 || failures.size < MOST_LANES) failures.set(key, failed + 1);
        return;
      }
      failures.delete(key);
      if (lanes.has(key) || lanes.size === MOST_LANES) return;
      if (step > 0) lanes.set(key, { lane, size: PER_STEP.afterRetry, isFirst: true });
      else if (failed >= OUTAGE) lanes.set(key, { lane, size: PER_STEP.afterFirst, isFirst: true });
    },
    async advance() {
      let left = PER_STEP.most;
      // The loop reads a copy, because a step moves a receiver to the end of `lanes`.
      const turns = [...lanes];
      for (const [key, { lane, size, isFirst }] of turns) {
        if (left === 0 || stopping.aborted) return;
        const limit = Math.min(left, size);
        const least = isFirst ? LEAST_WAITING : 1;
        const advanced = await storage.advanceRetries(lane, { least, limit });
        left -= advanced;
        // A receiver with more waiting webhooks moves to the end of `lanes`, so that receivers take turns.
        const isKnown = lanes.delete(key);
        if (isKnown && advanced === limit) lanes.set(key, { lane, size: 2 * size, isFirst: false });
        if (advanced > 0) onReady();
      }
    },
  };
}
