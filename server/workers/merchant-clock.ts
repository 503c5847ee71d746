import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import type { ClockMove, ClockStore, MerchantStore } from "../domain/storage.ts";
import type { Merchant } from "../domain/types.ts";
import type { DeliveryWorker } from "./deliveries.ts";
import type { Settlement } from "./settlement.ts";

/** The latest time that an RFC 3339 timestamp can express. */
const LATEST = Date.UTC(9999, 11, 31);
/** Real milliseconds between looks while another process works on what is due. */
const WAIT_MS = 10;

/** Moves the sandbox time of merchants (D18). */
export interface MerchantClock {
  /**
   * Moves a merchant's time forward and resolves when everything that fell due on the way has happened, each thing at its
   * own time (D29). Deliveries of different events are made in parallel; the attempts of one event stay in order.
   * @returns the merchant with its new time
   * @throws ServiceError `unprocessable` beyond the year 9999; `internal` when the server stops on the way. The clock has
   *   moved then, and the rest happens after the next start.
   */
  advance(merchantId: string, move: ClockMove): Promise<Merchant>;
  /** Deletes the merchant's records and puts its clock back to real time. */
  reset(merchantId: string): Promise<Merchant>;
}

export interface MerchantClockOptions {
  storage: Pick<ClockStore, "moveClock" | "hasDue" | "reset"> & Pick<MerchantStore, "findMerchant">;
  clock: Clock;
  settlement: Settlement;
  deliveries: DeliveryWorker;
  stopping: AbortSignal;
}

export function createMerchantClock(options: MerchantClockOptions): MerchantClock {
  const { storage, clock, settlement, deliveries, stopping } = options;

  /** Whether anything that the move made due is left; not after a reset, which ends the move. */
  async function isUnfinished(merchantId: string, movedTo: number): Promise<boolean> {
    const merchant = await storage.findMerchant(merchantId);
    return merchant!.movedTo >= movedTo && storage.hasDue(merchantId, movedTo);
  }

  return {
    async advance(merchantId, move) {
      const moved = await storage.moveClock(merchantId, move, LATEST);
      if (!moved) throw new ServiceError("unprocessable", "The clock cannot be moved beyond the year 9999.");
      for (;;) {
        if (stopping.aborted) {
          const message =
            "The server is stopping. The clock has moved; what fell due will happen after the next start.";
          throw new ServiceError("internal", message);
        }
        const done = (await settlement.settle(merchantId)) + (await deliveries.begin(merchantId));
        if (done > 0) continue;
        if (!(await isUnfinished(merchantId, moved.movedTo))) return moved;
        if (!(await deliveries.nextEnd(merchantId))) await clock.sleep(WAIT_MS, stopping);
      }
    },
    async reset(merchantId) {
      await storage.reset(merchantId);
      return (await storage.findMerchant(merchantId))!;
    },
  };
}
