const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay of each of the ten attempts since the previous one, without jitter (D13). */
const DELAYS_MS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const JITTER = 0.2;
const RETRY_AFTER_MAX_MS = HOUR;
const STATUSES_WITH_RETRY_AFTER = new Set([429, 503]);

/** What decides about the next attempt of a delivery. */
export interface AttemptsMade {
  /** Number of attempts so far; 0 for a new delivery. */
  attempts: number;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random: () => number;
  /** Real time in milliseconds, to interpret a `Retry-After` date. */
  now: number;
  /** HTTP status of the response to the last attempt. Absent if that attempt got no response. */
  httpStatus?: number | undefined;
  /** `Retry-After` of the last response, verbatim. */
  retryAfter?: string | undefined;
}

/**
 * Returns the milliseconds from the last attempt to the next one (D13), or undefined after the last attempt.
 *
 * `Retry-After` on 429 and 503 can lengthen the delay, up to an hour, but never shorten it. An invalid value is ignored.
 */
export function nextAttemptDelayMs({
  attempts,
  random,
  now,
  httpStatus,
  retryAfter,
}: AttemptsMade): number | undefined {
  const delay = DELAYS_MS[attempts];
  if (delay === undefined) return undefined;
  const scheduled = Math.round(delay * (1 - JITTER + 2 * JITTER * random()));
  if (httpStatus === undefined || !STATUSES_WITH_RETRY_AFTER.has(httpStatus)) return scheduled;
  return Math.max(scheduled, Math.min(retryAfterMs(retryAfter, now), RETRY_AFTER_MAX_MS));
}

/**
 * Returns what an attempt means for its delivery (D13): 2xx delivers it and 410 ends it. Any other response, including
 * a redirect, and no response (undefined) is a failure.
 */
export function verdictOf(httpStatus: number | undefined): "delivered" | "ended" | "failed" {
  if (httpStatus === undefined) return "failed";
  if (httpStatus >= 200 && httpStatus <= 299) return "delivered";
  return httpStatus === 410 ? "ended" : "failed";
}

function retryAfterMs(value: string | undefined, now: number): number {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * SECOND;
  const date = httpDate(text);
  return Number.isNaN(date) ? 0 : date - now;
}

/**
 * Parses the date forms of RFC 9110 §5.6.7. `Date.parse` alone reads "-5" as a year and the last form as local time.
 */
function httpDate(text: string): number {
  if (/^[A-Z][a-z]{2,8}, [\w: -]+ GMT$/.test(text)) return Date.parse(text);
  if (/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
