import type { Actor } from "../domain/audit.ts";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { MOST_AHEAD_MS, type ClockMove } from "../domain/time.ts";
import type { ClockStore } from "../domain/storage.ts";
import type { MerchantStore, Merchant } from "../domain/merchants.ts";
import type { QueueWorker } from "./queue-worker.ts";
import type { Settlement } from "./settlement.ts";

/** The pause between checks while another process does the due work, in real milliseconds. */
const WAIT_MS = 10;

/** Moves the sandbox time of merchants (D18). */
export interface MerchantClock {
  /**
   * Moves a merchant's time forward. Resolves when everything that fell due has been processed, each item
   * dated when it fell due (D18). Different events are delivered in parallel; attempts of one event stay in order.
   * @returns the merchant with its new time
   * @throws ServiceError `invalid_value` if the time would be more than `MOST_AHEAD_MS` ahead of real time;
   *   `internal_error` if the server stops first. In this case the clock has moved, and the rest is processed after the next start.
   */
  advance(merchantId: string, move: ClockMove, actor: Actor): Promise<Merchant>;
  /** Deletes the merchant's records and resets its clock to real time. */
  reset(merchantId: string, actor: Actor): Promise<Merchant>;
}

export interface MerchantClockOptions {
  storage: Pick<ClockStore, "moveClock" | "hasDue" | "reset"> & Pick<MerchantStore, "findMerchant">;
  clock: Clock;
  settlement: Settlement;
  deliveries: QueueWorker;
  stopping: AbortSignal;
}

export function createMerchantClock(options: MerchantClockOptions): MerchantClock {
  const { storage, clock, settlement, deliveries, stopping } = options;

  return {
    async advance(merchantId, move, actor) {
      const moved = await storage.moveClock(merchantId, move, MOST_AHEAD_MS, actor);
      if (!moved) throw tooFar(move);
      for (;;) {
        if (stopping.aborted) {
          throw new ServiceError(
            "internal_error",
            "The server is stopping. What fell due will happen after the next start.",
          );
        }
        const done = (await settlement.settle(merchantId)) + (await deliveries.begin(merchantId));
        if (done > 0) continue;
        if (!(await storage.hasDue(merchantId, moved.at))) return moved.merchant;
        if (!(await deliveries.nextEnd(merchantId))) await clock.sleep(WAIT_MS, stopping);
      }
    },
    async reset(merchantId, actor) {
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
