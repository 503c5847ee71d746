import { ipKeyGenerator, MemoryStore } from "express-rate-limit";
import { ServiceError } from "../domain/errors.ts";

const WINDOW_MS = 60_000;

/**
 * Counts requests with a missing or invalid key by client address.
 *
 * Beyond the limit such requests get 429 in place of 401. Requests with a valid key are never limited here: keys are too
 * long to be guessed, and a merchant behind the same address as an attacker must not be locked out.
 * @param limit failed requests per address and minute
 */
export function createFailedKeys(limit: number) {
  const store = new MemoryStore();
  store.init({ windowMs: WINDOW_MS } as Parameters<MemoryStore["init"]>[0]);
  return {
    /** @throws ServiceError `rate_limited` if the address is over the limit */
    async count(address: string | undefined): Promise<void> {
      const { totalHits, resetTime } = await store.increment(ipKeyGenerator(address ?? "unknown"));
      if (totalHits <= limit) return;
      const waitMs = (resetTime?.getTime() ?? Date.now() + WINDOW_MS) - Date.now();
      throw new ServiceError("rate_limited", "Too many requests without a valid key came from this address.", {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      });
    },
  };
}
