import type { Clock } from "../domain/clock.ts";
import type { Housekeeping } from "../domain/housekeeping.ts";
import type { MerchantStore } from "../domain/merchants.ts";
import { createYielding } from "../sharing/yielding.ts";

export const PRUNE_EVENTS_EVERY_MS = 3_600_000;
/** Events per transaction, so few that no payment waits for long. */
const STEP = 200;
const DAY_MS = 86_400_000;

interface Options {
  storage: Pick<Housekeeping, "pruneEvents"> & Pick<MerchantStore, "listMerchants">;
  clock: Clock;
  days: number;
  stopping: AbortSignal;
}

/** Returns a function that deletes old events as `db prune` does, of all merchants, a few at a time. */
export function createRetention({ storage, clock, days, stopping }: Options): () => Promise<void> {
  const giveWay = createYielding();
  return async () => {
    const before = clock.now() - days * DAY_MS;
    for (const { id: merchantId } of await storage.listMerchants()) {
      for (let after: number | undefined = 0; after !== undefined && !stopping.aborted;) {
        const step = await storage.pruneEvents({ merchantId, before, after, limit: STEP, dryRun: false });
        after = step.next;
        await giveWay();
      }
    }
  };
}
