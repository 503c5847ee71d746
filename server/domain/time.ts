import { ServiceError } from "./errors.ts";
import type { Merchant } from "./merchants.ts";

export const DAY_MS = 86_400_000;

export type ClockMove = { by: number } | { to: number };

/** How far ahead of real time a merchant's clock may be, after one move or after several (D18). */
const MOST_AHEAD_MS = 365 * DAY_MS;

/** Returns the merchant's sandbox time. @param now real time */
export function sandboxTime({ clockOffset }: Pick<Merchant, "clockOffset">, now: number): number {
  return now + clockOffset;
}

/**
 * Returns the sandbox time after a move by a duration or to a sandbox time, which never goes backwards.
 * @param now real time
 * @throws ServiceError `invalid_value` if the time would be more than `MOST_AHEAD_MS` ahead of real time
 */
export function movedTime(merchant: Pick<Merchant, "clockOffset">, now: number, move: ClockMove): number {
  const current = sandboxTime(merchant, now);
  const to = "by" in move ? current + move.by : Math.max(current, move.to);
  if (to - now <= MOST_AHEAD_MS) return to;
  const path = "by" in move ? "seconds" : "to";
  const days = MOST_AHEAD_MS / DAY_MS;
  const message = `${path} must not move the clock more than ${days} days ahead of real time. A reset sets the clock back.`;
  throw new ServiceError("invalid_value", message, { fields: [{ path, code: "maximum", message }] });
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
