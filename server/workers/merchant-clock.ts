import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../domain/errors.ts";
import type { ClockStore } from "../domain/storage.ts";
import type { Merchant } from "../domain/merchants.ts";
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
  storage: Pick<ClockStore, "moveClock" | "hasDue">;
  settle: Settle;
  deliveries: Pick<QueueWorker, "begin">;
  stopping: AbortSignal;
}

export type AdvanceClock = ReturnType<typeof createAdvanceClock>;

/**
 * Returns a function that moves a merchant's sandbox time forward (D18). It resolves when everything that fell due has been
 * processed, each item dated when it fell due. Different events are delivered in parallel; attempts of one event stay in
 * order. If the server stops first, it throws a ServiceError `internal_error`: the clock has moved, and the rest is
 * processed after the next start.
 */
export function createAdvanceClock({ storage, settle, deliveries, stopping }: Options) {
  return async (...move: Parameters<ClockStore["moveClock"]>): Promise<Merchant> => {
    const { merchant, at } = await storage.moveClock(...move);
    for (let pause = PAUSE_MS; !stopping.aborted;) {
      const done = (await settle(merchant.id)) + (await deliveries.begin());
      if (!(await storage.hasDue(merchant.id, at))) return merchant;
      if (done > 0) continue;
      // Attempts are in progress, here or in another process. A receiver may hang, and others need the storage.
      await sleep(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
    throw new ServiceError("internal_error", "The server is stopping. What fell due will happen after the next start.");
  };
}
