import { errorInfo, attempt, notify } from "./attempt.ts";
import type { AttemptOutcome, Context, Job } from "./attempt.ts";
import { AbortedError, NotFoundError, RateLimitError, TimeoutError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { afterOrAbort } from "./runtime.ts";

/** How a call ended: the outcome of its last attempt. `ambiguous` is true if any attempt may have been recorded. */
export type CallOutcome = AttemptOutcome & { ambiguous: boolean };

// The share of a call's time that is reserved for its last attempt.
const lastAttemptShare = 0.05;

// How long waitFor retries a 404, in ms. A new record may not be visible on every replica yet, but a mistyped reference
// should fail soon.
const absenceLimit = 10_000;

/**
 * Sends a request, and retries it until the outcome is definite or the attempts or the time run out. Never throws.
 *
 * Delays grow exponentially with full jitter, on top of the service's `Retry-After`.
 */
export async function sendWithRetries(context: Context, job: Job, settings: Settings): Promise<CallOutcome> {
  const { runtime, limiter, hooks } = context;
  const { signal } = settings;
  const { tries, minDelay, maxDelay, totalTime } = settings.retry;
  const started = runtime.now();
  const deadline = started + totalTime;
  const lastStart = deadline - totalTime * lastAttemptShare;
  let absentUntil = Math.min(lastStart, started + absenceLimit);
  let ambiguous = false;
  let outcome: AttemptOutcome = {
    error: new TimeoutError(`Not sent within ${totalTime} ms, because the service limits the rate of requests.`),
  };
  for (let number = 1; ; number++) {
    if (!(await limiter.enter(deadline - runtime.now(), signal, number > 1))) {
      return { ...(signal?.aborted ? { error: new AbortedError("Aborted.") } : outcome), ambiguous };
    }
    const entered = runtime.now();
    const timeout = Math.min(settings.timeout, deadline - entered);
    const info = { operation: job.operation, reference: job.reference, attempt: number };
    outcome = await attempt(context, job, settings, timeout, info);
    const { error, retry, retryAfter = 0 } = outcome;
    limiter.leave(entered, error instanceof RateLimitError ? retryAfter : undefined);
    ambiguous ||= !!outcome.ambiguous;
    if (!error) absentUntil = lastStart;
    const timeLeft = (error instanceof NotFoundError ? absentUntil : lastStart) - runtime.now();
    if (!retry || number >= tries || timeLeft <= retryAfter) return { ...outcome, ambiguous };

    const delay = Math.min(timeLeft, retryAfter + runtime.random() * Math.min(maxDelay, minDelay * 2 ** (number - 1)));
    notify(hooks.onRetry, { ...info, delay, error: errorInfo(error) });
    // If the signal ends the delay, the limiter gives the next attempt no turn.
    await new Promise<void>((resolve) => afterOrAbort(runtime, delay, signal, resolve));
  }
}
