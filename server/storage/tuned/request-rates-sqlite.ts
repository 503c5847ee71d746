import type { MerchantStore } from "../../domain/merchants.ts";

/** Returns a function that applies a merchant's rate limit. Only one server uses the file, so its memory is enough. */
export function requestRates(now: () => number): MerchantStore["takeRequest"] {
  // When each merchant's bucket of requests is full again.
  const fullAgain = new Map<string, number>();
  return async (merchantId, perSecond) => {
    const time = now();
    const interval = 1000 / perSecond;
    const fullAt = Math.max(fullAgain.get(merchantId) ?? time, time) + interval;
    // A hundredth of a request makes up for rounding.
    if (fullAt > time + 1000 + interval / 100) return false;
    fullAgain.set(merchantId, fullAt);
    return true;
  };
}
