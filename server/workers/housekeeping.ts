import type { Clock } from "../domain/clock.ts";
import type { Housekeeping } from "../domain/storage.ts";
import type { ApiKey } from "../domain/keys.ts";
import type { KeyOwner, MerchantStore } from "../domain/merchants.ts";
import { DAY_MS } from "../domain/time.ts";
import { PAUSE_MS, untilDone } from "./loop.ts";

export const PRUNE_EVENTS_EVERY_MS = 3_600_000;
/** The number of events per transaction: so few that no payment waits for long. */
const EVENTS_PER_STEP = 200;
/** Records per transaction and status. */
const ERASED_PER_STEP = 50;

interface RetentionOptions {
  storage: Pick<Housekeeping, "pruneEvents" | "erasePhones"> & Pick<MerchantStore, "listMerchants">;
  clock: Clock;
  /** Events older than this are deleted. If absent, events are kept. */
  days?: number | undefined;
  /** Phone numbers of records that have been final for longer are erased; kept if absent. */
  phoneDays?: number | undefined;
  stopping: AbortSignal;
}

/**
 * Returns a function that deletes old events and erases old phone numbers of all merchants, a few events or records at a
 * time.
 */
export function createRetention({ storage, clock, days, phoneDays, stopping }: RetentionOptions): () => Promise<void> {
  async function erasePhones(merchantId: string, before: number) {
    const query = { merchantId, before, limit: ERASED_PER_STEP };
    await untilDone(stopping, () => storage.erasePhones(query), PAUSE_MS);
  }
  async function pruneEvents(merchantId: string, before: number) {
    let after: number | undefined = 0;
    const step = async () => {
      after = await storage.pruneEvents({ merchantId, before, limit: EVENTS_PER_STEP, after: after! });
      return after !== undefined;
    };
    await untilDone(stopping, step, PAUSE_MS);
  }
  return async () => {
    if ((days ?? phoneDays) === undefined) return;
    const now = clock.now();
    for (const { id } of await storage.listMerchants()) {
      if (phoneDays !== undefined) await erasePhones(id, now - phoneDays * DAY_MS);
      if (days !== undefined) await pruneEvents(id, now - days * DAY_MS);
    }
  };
}

/** How often the uses are stored. A stored time of use is too old by at most this time. */
export const RECORD_USES_EVERY_MS = 60_000;

export type KeyUses = ReturnType<typeof createKeyUses>;

/**
 * When keys were last used. Requests only note the use in memory. The use is stored later, so that no request waits for
 * the storage.
 */
export function createKeyUses({ storage }: { storage: MerchantStore }) {
  const noted = new Map<string, Pick<ApiKey, "merchantId" | "id">>();
  return {
    /** Notes that a request had this key. */
    note({ merchant, keyId: id }: Pick<KeyOwner, "merchant" | "keyId">): void {
      noted.set(id, { merchantId: merchant.id, id });
    },
    /** Stores the noted uses. If this fails, the key's next use is noted again. */
    async record() {
      if (noted.size === 0) return;
      const keys = [...noted.values()];
      noted.clear();
      await storage.recordKeyUses(keys);
    },
  };
}
