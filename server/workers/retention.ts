import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import type { Housekeeping } from "../domain/housekeeping.ts";
import type { MerchantStore } from "../domain/merchants.ts";

export const PRUNE_EVENTS_EVERY_MS = 3_600_000;
/** The number of events per transaction: so few that no payment waits for long. */
const STEP = 200;
/** Records per transaction and status. */
const ERASURE_STEP = 50;
/** The pause after a step, in which requests run. */
const PAUSE_MS = 5;
const DAY_MS = 86_400_000;

interface Options {
  storage: Pick<Housekeeping, "pruneEvents" | "erasePhones"> & Pick<MerchantStore, "listMerchants">;
  clock: Clock;
  /** Events older than this are deleted. If absent, events are kept. */
  days?: number | undefined;
  /** Phone numbers of records that have been final for longer are erased; kept if absent. */
  phoneDays?: number | undefined;
  stopping: AbortSignal;
}

/**
 * Returns a function that deletes old events as `db prune` does, and erases old phone numbers. It does this for all
 * merchants, a few events or records at a time.
 */
export function createRetention({ storage, clock, days, phoneDays, stopping }: Options): () => Promise<void> {
  return async () => {
    const now = clock.now();
    for (const { id: merchantId } of await storage.listMerchants()) {
      for (let isDone = phoneDays === undefined; !isDone && !stopping.aborted;) {
        ({ isDone } = await storage.erasePhones({
          merchantId,
          before: now - phoneDays! * DAY_MS,
          limit: ERASURE_STEP,
        }));
        await sleep(PAUSE_MS);
      }
      const before = now - (days ?? 0) * DAY_MS;
      for (let after = days === undefined ? undefined : 0; after !== undefined && !stopping.aborted;) {
        const step = await storage.pruneEvents({ merchantId, before, after, limit: STEP, dryRun: false });
        after = step.next;
        await sleep(PAUSE_MS);
      }
    }
  };
}
