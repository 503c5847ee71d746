import type { Merchant } from "./merchants.ts";

export const DAY_MS = 86_400_000;

export type ClockMove = { by: number } | { to: number };

/** How far ahead of real time a merchant's clock may be, after one move or after several (D18). */
export const MOST_AHEAD_MS = 365 * DAY_MS;

/** Returns the merchant's sandbox time. @param now real time */
export function sandboxTime({ clockOffset }: Pick<Merchant, "clockOffset">, now: number): number {
  return now + clockOffset;
}

/**
 * Returns the sandbox time after a move by a duration or to a sandbox time, which never goes backwards. Undefined if the
 * move would lead further ahead of real time than `mostAheadMs`; a move that changes nothing is always possible.
 * @param now real time
 */
export function movedTime(
  merchant: Pick<Merchant, "clockOffset">,
  now: number,
  move: ClockMove,
  mostAheadMs: number,
): number | undefined {
  const current = sandboxTime(merchant, now);
  const to = "by" in move ? current + move.by : Math.max(current, move.to);
  return to > current && to - now > mostAheadMs ? undefined : to;
}

/**
 * Returns the sandbox time to record for a settlement or attempt that was due at the sandbox time `dueAt` (D18). For a
 * merchant whose clock was moved this is `dueAt` itself. Therefore the clock can move in a single step, and each
 * consequence still has the date at which it was due.
 * @param now real time
 */
export function happensAt(merchant: Pick<Merchant, "clockOffset">, dueAt: number, now: number): number {
  return merchant.clockOffset > 0 ? dueAt : sandboxTime(merchant, now);
}
