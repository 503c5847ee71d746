import type { Clock } from "../domain/clock.ts";
import type { KeyOwner, MerchantStore } from "../domain/merchants.ts";
import type { KeyUse } from "../domain/keys.ts";

/**
 * When keys were last used. Requests only note the use in memory. The use is stored later, so that no request waits for
 * the storage.
 */
export interface KeyUses {
  /** Notes that a request had this key. */
  note(owner: Pick<KeyOwner, "merchant" | "keyId">): void;
  /** Stores the noted uses. If this fails, the key's next use is noted again. */
  record(): Promise<void>;
}

/** How often the uses are stored. A stored time of use is too old by at most this time. */
export const RECORD_USES_EVERY_MS = 60_000;

export function createKeyUses({ storage, clock }: { storage: MerchantStore; clock: Clock }): KeyUses {
  const noted = new Map<string, KeyUse>();
  return {
    note({ merchant, keyId }) {
      if (!noted.has(keyId)) noted.set(keyId, { merchantId: merchant.id, keyId, usedAt: clock.now() });
    },
    async record() {
      if (noted.size === 0) return;
      const uses = [...noted.values()];
      noted.clear();
      await storage.recordKeyUses(uses);
    },
  };
}
