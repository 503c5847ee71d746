import { abortedBy, attempt, report } from "./attempt.ts";
import { NotFoundError, RateLimitError, TimeoutError } from "./errors.ts";
import type { RetryInfo } from "./hooks.ts";
import type { Context, Data, Job, Trace } from "./job.ts";
import type { Settings } from "./options.ts";
import type { AttemptOutcome } from "./outcome.ts";
import { afterOrAbort } from "./runtime.ts";

/** How a call ended: the outcome of its last attempt. `ambiguous` is true if any attempt may have been recorded. */
export type CallOutcome = AttemptOutcome & { ambiguous: boolean };

export const startTrace = ({ runtime }: Context): Trace => ({ callId: runtime.id(), attempts: [] });

// The share of a call's time that is reserved for its last attempt.
const lastAttemptShare = 0.05;

// How long a 404 is retried, in ms. A new record may not be visible on every replica yet, but a mistyped reference
// should fail soon.
const absenceLimit = 10_000;

// The longest `Retry-After` that a call waits for, in ms. A longer one ends the call, even if the call has time left: a
// mistaken header, of a proxy for example, would silence a long call for days. The error says when to retry.
const longestWait = 60_000;

/**
 * Sends a request, and retries it until the outcome is definite or the attempts or the time run out. Never throws.
 *
 * Delays grow exponentially with full jitter, on top of the service's `Retry-After`.
 */
export async function sendWithRetries(
  context: Context,
  job: Job,
  settings: Settings,
  trace = startTrace(context),
): Promise<CallOutcome> {
  const { runtime, limiter } = context;
  const { signal } = settings;
  const { tries, minDelay, maxDelay, totalTime } = settings.retry;
  const started = runtime.now();
  const deadline = started + totalTime;
  const lastStart = deadline - totalTime * lastAttemptShare;
  let absentUntil = Math.min(lastStart, started + absenceLimit);
  let ambiguous = false;
  let last: Data | undefined;
  let outcome: AttemptOutcome | undefined;
  for (let number = 1; ; number++) {
    if (!(await limiter.enter(deadline - runtime.now(), signal, number > 1))) {
      if (signal?.aborted) outcome = { error: abortedBy(signal) };
      outcome ??= { error: new TimeoutError(`Not sent within ${totalTime} ms: the rate is limited.`) };
      break;
    }
    const entered = runtime.now();
    const timeout = Math.min(settings.timeout, deadline - entered);
    outcome = await attempt(context, job, settings, timeout, trace, number);
    const { error, data, retry } = outcome;
    const retryAfter = error?.retryAfter ?? 0;
    limiter.leave(entered, error instanceof RateLimitError ? retryAfter : undefined);
    ambiguous ||= !!outcome.ambiguous;
    if (data) {
      last = data;
      absentUntil = lastStart;
    }
    const timeLeft = (error instanceof NotFoundError ? absentUntil : lastStart) - runtime.now();
    if (!retry || number >= tries || Math.min(timeLeft, longestWait) <= retryAfter) break;

    const delay = Math.min(timeLeft, retryAfter + runtime.random() * Math.min(maxDelay, minDelay * 2 ** (number - 1)));
    report(context, "onRetry", { ...trace.attempts.at(-1)!, delay } as RetryInfo);
    // If the signal ends the delay, the limiter gives the next attempt no turn.
    await new Promise<void>((resolve) => afterOrAbort(runtime, delay, signal, resolve));
  }
  // The time is up. The record that was read before says more than the failure of the last attempt.
  if (outcome.retry && last)
    outcome = { error: new TimeoutError(`Still ${last.status ?? "missing"}.`, { cause: outcome.error }) };
  const { error } = outcome;
  const { operation, reference } = job;
  // Not enumerable, so that a printed or serialised error does not show it: records contain phone numbers.
  if (error) Object.defineProperty(Object.assign(error, { operation, reference, ...trace }), "last", { value: last });
  return { ...outcome, ambiguous };
}
