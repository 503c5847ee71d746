import { setTimeout as sleep } from "node:timers/promises";
import type { Actor } from "../domain/audit.ts";
import { ServiceError } from "../domain/errors.ts";
import { MOST_AHEAD_MS, type ClockMove } from "../domain/time.ts";
import type { ClockStore } from "../domain/storage.ts";
import type { MerchantStore, Merchant } from "../domain/merchants.ts";
import { PAUSE_MS } from "./loop.ts";
import type { QueueWorker } from "./queue-worker.ts";

/** Records per transaction. A larger transaction would block the event loop for longer than requests should wait. */
const BATCH = 50;
/** The longest pause between two looks for attempts that have ended, in real milliseconds. */
const LONGEST_PAUSE_MS = 250;

/** Settles every due record, or only the due records of one merchant. Resolves with their number. */
type Settle = (merchantId?: string) => Promise<number>;

export const createSettle =
  (storage: Pick<ClockStore, "settleDue">, stopping: AbortSignal): Settle =>
  async (merchantId) => {
    for (let settled = 0; ;) {
      const count = await storage.settleDue(BATCH, merchantId);
      settled += count;
      if (count < BATCH || stopping.aborted) return settled;
    }
  };

interface Options {
  storage: Pick<ClockStore, "moveClock" | "hasDue" | "reset"> & Pick<MerchantStore, "findMerchant">;
  settle: Settle;
  deliveries: Pick<QueueWorker, "begin">;
  stopping: AbortSignal;
}

export type MerchantClock = ReturnType<typeof createMerchantClock>;

/** Moves the sandbox time of merchants (D18). */
export function createMerchantClock({ storage, settle, deliveries, stopping }: Options) {
  return {
    /**
     * Moves a merchant's time forward. Resolves when everything that fell due has been processed, each item dated when it
     * fell due (D18). Different events are delivered in parallel; attempts of one event stay in order.
     * @returns the merchant with its new time
     * @throws ServiceError `invalid_value` if the time would be more than `MOST_AHEAD_MS` ahead of real time;
     *   `internal_error` if the server stops first. In this case the clock has moved, and the rest is processed after the
     *   next start.
     */
    async advance(merchantId: string, move: ClockMove, actor: Actor): Promise<Merchant> {
      const moved = await storage.moveClock(merchantId, move, MOST_AHEAD_MS, actor);
      if (!moved) throw tooFar(move);
      for (let pause = PAUSE_MS; !stopping.aborted;) {
        const done = (await settle(merchantId)) + (await deliveries.begin());
        if (!(await storage.hasDue(merchantId, moved.at))) return moved.merchant;
        if (done > 0) continue;
        // Attempts are in progress, here or in another process. A receiver may hang, and others need the storage.
        await sleep(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      }
      throw new ServiceError(
        "internal_error",
        "The server is stopping. What fell due will happen after the next start.",
      );
    },
    /** Deletes the merchant's records and resets its clock to real time. */
    async reset(merchantId: string, actor: Actor): Promise<Merchant> {
      await storage.reset(merchantId, actor);
      return (await storage.findMerchant(merchantId))!;
    },
  };
}

function tooFar(move: ClockMove): ServiceError {
  const path = "by" in move ? "seconds" : "to";
  const days = MOST_AHEAD_MS / 86_400_000;
  const message = `${path} must not move the clock more than ${days} days ahead of real time. A reset sets the clock back.`;
  return new ServiceError("invalid_value", message, { fields: [{ path, code: "maximum", message }] });
}
