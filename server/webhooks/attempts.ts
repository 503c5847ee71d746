import type { Clock } from "../domain/clock.ts";
import type { Claim, ClaimedDelivery, DeliveryQueue, NextStep } from "../domain/deliveries.ts";
import type { Emit } from "../domain/telemetry.ts";
import { happensAt, sandboxTime } from "../domain/time.ts";
import { childOf, readTraceparent, traceparentOf, type Trace } from "../domain/trace.ts";
import { nextAttemptDelayMs, verdictOf } from "./schedule.ts";
import type { AttemptResult, Message } from "./send.ts";

export interface AttemptContext {
  storage: Pick<DeliveryQueue, "recordAttempt">;
  clock: Clock;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of retries. */
  chance(): number;
  emit: Emit;
  /** Returns the id of a new piece of work in a trace. */
  span(): string;
}

/** An attempt of a claimed delivery. */
export interface Attempted extends Claim {
  /** The number of attempts before this attempt in the schedule. */
  step: number;
  /** When the attempt fell due; absent for a replay. */
  dueAt?: number;
  /** When the attempt happens on the merchant's clock. */
  at: number;
  trace?: Trace | undefined;
}

/** Prepares an attempt of a claimed delivery, and its message. @param now real time */
export function prepareAttempt(
  { event, merchant, secrets, url, token, step, dueAt }: ClaimedDelivery,
  { span }: Pick<AttemptContext, "span">,
  now: number,
): { attempted: Attempted; message: Message } {
  const at = dueAt === undefined ? sandboxTime(merchant, now) : happensAt(merchant, dueAt, now);
  const previous = secrets.previous.filter(({ expiresAt }) => expiresAt > at).map(({ secret }) => secret);
  const parent = readTraceparent(event.traceparent);
  const trace = parent && childOf(parent, span());
  return {
    attempted: { event, token, step, at, trace, ...(dueAt !== undefined && { dueAt }) },
    message: {
      url,
      id: event.id,
      secrets: [secrets.current, ...previous],
      body: event.body,
      traceparent: trace && traceparentOf(trace),
    },
  };
}

/** The result of an attempt that the chaos switch loses: nothing is sent (D67). */
export const lostAttempt = (sentAt: number): AttemptResult => ({
  sentAt,
  latencyMs: 0,
  error: "Lost by the chaos switch.",
});

/** Records the result of an attempt and schedules the next one (D13). Records nothing if the claim has ended. */
export async function recordResult(
  { storage, chance, emit }: AttemptContext,
  { event, token, step, dueAt, at, trace }: Attempted,
  result: AttemptResult,
): Promise<NextStep> {
  const next = nextStep(step + 1, at, result, chance);
  const { sentAt, latencyMs, httpStatus, responseBody, error } = result;
  const attempt = { at, sentAt, latencyMs, httpStatus, responseBody, error };
  const counted = await storage.recordAttempt({ event, token }, attempt, next);
  emit("attempt", {
    eventId: event.id,
    merchantId: event.merchantId,
    status: next.status,
    httpStatus,
    durationMs: latencyMs,
    delayMs: dueAt === undefined ? undefined : at - dueAt,
    counted,
    trace,
  });
  return next;
}

/** The delivery's state after an attempt (D13). */
function nextStep(step: number, at: number, result: AttemptResult, chance: () => number): NextStep {
  const verdict = verdictOf(result.httpStatus);
  if (verdict !== "failed") return { status: verdict, step };
  const { httpStatus, retryAfter, sentAt, latencyMs } = result;
  const delay = nextAttemptDelayMs({ attempts: step, random: chance, httpStatus, retryAfter, now: sentAt });
  return delay === undefined
    ? { status: "exhausted", step }
    : { status: "pending", step, nextAttemptAt: at + latencyMs + delay };
}
