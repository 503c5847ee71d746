import type { Clock } from "../domain/clock.ts";
import { ApiError } from "../domain/errors.ts";
import type { Storage } from "../domain/storage.ts";
import type { DeliveryWorker } from "./deliveries.ts";

const BATCH = 500;
/** What a date-time of RFC 3339 can still say. */
const LATEST = Date.UTC(9999, 11, 31);
/** Real milliseconds between looks while somebody else is at work on what is due. */
const WAIT_MS = 10;

export interface Timeline {
  /** Settles everything that is due; how much. */
  settle(merchantId?: string): Promise<number>;
  /**
   * Moves a merchant's time forward by so many milliseconds. It stops at each thing that falls due on the way and lets
   * it happen at its own time, so that what follows from it (a webhook, its retries) has its place in order (D18, D29).
   * @throws ApiError `internal` when the server stops on the way, `unprocessable` when it would lead beyond the year 9999
   */
  advance(merchantId: string, milliseconds: number): Promise<void>;
  /** Forgets the merchant's records and puts its clock back to real time, once no move is under way. */
  reset(merchantId: string): Promise<void>;
}

interface Options {
  storage: Storage;
  clock: Clock;
  deliveries: DeliveryWorker;
  stopping: AbortSignal;
}

export function createTimeline({ storage, clock, deliveries, stopping }: Options): Timeline {
  // Changes of the same merchant's time one after the other; each counts from where the one before ended.
  const changes = new Map<string, Promise<void>>();

  async function settle(merchantId?: string): Promise<number> {
    let settled = 0;
    for (;;) {
      const count = await storage.settleDue(clock.now(), BATCH, merchantId);
      settled += count;
      if (count < BATCH || stopping.aborted) return settled;
    }
  }

  async function deliver(merchantId: string): Promise<number> {
    const begun = await deliveries.begin(merchantId);
    return begun + (await deliveries.idle(merchantId));
  }

  async function move(merchantId: string, milliseconds: number): Promise<void> {
    // A replay begins at the time that is now.
    await deliveries.idle(merchantId);
    const merchant = await storage.findMerchant(merchantId);
    const offset = merchant!.clockOffset + milliseconds;
    if (clock.now() + offset > LATEST)
      throw new ApiError("unprocessable", "seconds must not lead beyond the year 9999.");
    for (let idle = false; ;) {
      if (stopping.aborted)
        throw new ApiError("internal", "The server is stopping; the clock has moved part of the way.");
      const next = await storage.nextDue(merchantId);
      if (!next || next.at > clock.now() + offset) break;
      await storage.setClockOffset(merchantId, Math.min(next.at - clock.now(), offset));
      const done = (await settle(merchantId)) + (await deliver(merchantId));
      // Once may be chance: an attempt was recorded in between. Twice means that somebody else is at work on it.
      if (done === 0 && idle) await clock.sleep(WAIT_MS, stopping);
      idle = done === 0;
    }
    await storage.setClockOffset(merchantId, offset);
  }

  function inTurn(merchantId: string, change: () => Promise<void>): Promise<void> {
    const before = changes.get(merchantId) ?? Promise.resolve();
    const changed = before.catch(() => {}).then(change);
    changes.set(merchantId, changed);
    return changed.finally(() => {
      if (changes.get(merchantId) === changed) changes.delete(merchantId);
    });
  }

  return {
    settle,
    advance: (merchantId, milliseconds) => inTurn(merchantId, () => move(merchantId, milliseconds)),
    reset: (merchantId) => inTurn(merchantId, () => storage.reset(merchantId)),
  };
}
