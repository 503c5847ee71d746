import type { Merchant } from "./types.ts";

/** The merchant's sandbox time. @param now real time */
export function sandboxTime({ clockOffset }: Pick<Merchant, "clockOffset">, now: number): number {
  return now + clockOffset;
}

/**
 * The sandbox time at which something that was due at `dueAt` happens: at that time if the clock was moved past it, else
 * now (D29). This lets one move of the clock be a single step, and still gives each consequence its own time.
 * @param now real time
 */
export function happensAt(merchant: Pick<Merchant, "clockOffset" | "movedTo">, dueAt: number, now: number): number {
  return dueAt <= merchant.movedTo ? dueAt : sandboxTime(merchant, now);
}
