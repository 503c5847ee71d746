import type { ClockStore } from "../domain/storage.ts";

/** Records per transaction. A larger transaction would block the event loop for longer than requests should wait. */
const BATCH = 50;

export interface Settlement {
  /** Settles every due record, or only the due records of one merchant. Returns their number. */
  settle(merchantId?: string): Promise<number>;
}

export function createSettlement(storage: Pick<ClockStore, "settleDue">, stopping: AbortSignal): Settlement {
  return {
    async settle(merchantId) {
      let settled = 0;
      for (;;) {
        const count = await storage.settleDue(BATCH, merchantId);
        settled += count;
        if (count < BATCH || stopping.aborted) return settled;
      }
    },
  };
}
