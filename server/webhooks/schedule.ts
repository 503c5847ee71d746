const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** D13: how long after the one before it each of the ten attempts is made, before jitter. */
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

/** What is known after some attempts of a delivery. */
export interface AttemptsMade {
  /** How many attempts were made so far: 0 for a new delivery. */
  attempts: number;
  /** From 0 up to, but not including, 1. */
  random: () => number;
  /** Real time in milliseconds, against which a `Retry-After` that is a date is read. */
  now: number;
  /** The status of the last answer; absent when there was none. */
  httpStatus?: number | undefined;
  /** `Retry-After` of the last answer, as it came. */
  retryAfter?: string | undefined;
}

/**
 * Milliseconds from the last attempt to the next one (D13), or undefined when the schedule is over.
 *
 * `Retry-After` on 429 and 503 makes the wait longer, up to an hour, never shorter: a receiver may ask for
 * rest, but not for more requests than the schedule has. What cannot be read is ignored.
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
 * What an attempt means for its delivery (D13): 2xx delivers it, 410 ends it; any other answer, redirects
 * included, and no answer (undefined) failed.
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

/** The three forms of RFC 9110 §5.6.7. `Date.parse` alone would read "-5" as a year, and the third as local time. */
function httpDate(text: string): number {
  if (/^[A-Z][a-z]{2,8}, [\w: -]+ GMT$/.test(text)) return Date.parse(text);
  if (/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/.test(text)) return Date.parse(`${text} GMT`);
  return Number.NaN;
}
