import type { Attempt, NextStep } from "../domain/deliveries.ts";

const SECOND = 1_000;

/** The delay of each of the ten attempts since the previous one, in seconds, without jitter: up to a day (D13). */
const DELAYS_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
const JITTER = 0.2;
const RETRY_AFTER_MAX_MS = 3_600 * SECOND;

type Result = Pick<Attempt, "sentAt" | "latencyMs" | "httpStatus"> & { retryAfter?: string };

/**
 * Returns the state of a delivery after `step` attempts (D13), of which the last began at the merchant's time `at`.
 *
 * `Retry-After` on 429 and 503 can lengthen the delay, up to an hour, but never shorten it. An invalid value is ignored.
 * @param chance returns a number from 0 (inclusive) to 1 (exclusive)
 */
export function nextStep(step: number, at: number, result: Result, chance: () => number): NextStep {
  const { httpStatus, retryAfter, sentAt, latencyMs } = result;
  const status = verdictOf(httpStatus);
  if (status !== "failed") return { status, step };
  const delay = DELAYS_S[step];
  if (delay === undefined) return { status: "exhausted", step };
  const scheduled = Math.round(delay * SECOND * (1 - JITTER + 2 * JITTER * chance()));
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
  // A date in the form that RFC 9110 (§5.6.7) prefers. `Date.parse` alone reads "-5" as a year.
  const date = /^[A-Z][a-z]{2}, [\w: ]+ GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : date - now;
}
