import type { NextStep } from "../domain/deliveries.ts";
import type { AttemptResult } from "./send.ts";

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

/**
 * Returns the state of a delivery after `step` attempts (D13), of which the last began at the merchant's time `at`.
 *
 * `Retry-After` on 429 and 503 can lengthen the delay, up to an hour, but never shorten it. An invalid value is ignored.
 * @param chance returns a number from 0 (inclusive) to 1 (exclusive)
 */
export function nextStep(step: number, at: number, result: AttemptResult, chance: () => number): NextStep {
  const { httpStatus, retryAfter, sentAt, latencyMs } = result;
  const status = verdictOf(httpStatus);
  if (status !== "failed") return { status, step };
  const delay = DELAYS_MS[step];
  if (delay === undefined) return { status: "exhausted", step };
  const scheduled = Math.round(delay * (1 - JITTER + 2 * JITTER * chance()));
  const mayAsk = httpStatus === 429 || httpStatus === 503;
  const asked = mayAsk ? Math.min(retryAfterMs(retryAfter, sentAt), RETRY_AFTER_MAX_MS) : 0;
  return { status: "pending", step, nextAttemptAt: at + latencyMs + Math.max(scheduled, asked) };
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
