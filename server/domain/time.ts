import type { Merchant } from "./types.ts";

/** Returns the merchant's sandbox time. @param now real time */
export function sandboxTime({ clockOffset }: Pick<Merchant, "clockOffset">, now: number): number {
  return now + clockOffset;
}

/**
 * Returns the sandbox time to record for a settlement or attempt that was due at `dueAt` (D29). If the clock was moved
 * past `dueAt`, this is `dueAt` itself, otherwise it is the current time. The clock thus moves in a single step, and
 * its consequences are still dated when each was due.
 * @param now real time
 */
export function happensAt(merchant: Pick<Merchant, "clockOffset" | "movedTo">, dueAt: number, now: number): number {
  return dueAt <= merchant.movedTo ? dueAt : sandboxTime(merchant, now);
}
