import { aboutError, attempt, notify } from "./attempt.ts";
import type { Context, Job, Outcome } from "./attempt.ts";
import { NotFoundError } from "./errors.ts";
import type { Settings } from "./options.ts";
import { atEnd } from "./runtime.ts";

/** How a call ended, and whether any of its tries may have done what was asked. */
export type Sent = Outcome & { ambiguous: boolean };

// The part of a call's time that is kept for its last try.
const lastTry = 0.05;

// How long waitFor looks, in ms, for a record that it has not seen yet: servers may learn of a new one at different
// times, but a mistyped reference should be told soon.
const absence = 10_000;

/**
 * Sends a request until it is answered for good, or tries or time are used up. Never throws.
 *
 * Pauses grow exponentially, with full jitter, after whatever time the service asked for itself.
 */
export async function send(context: Context, job: Job, settings: Settings): Promise<Sent> {
  const { runtime, hooks } = context;
  const { tries, minDelay, maxDelay, totalTime } = settings.retry;
  const started = runtime.now();
  const deadline = started + totalTime;
  const lastStart = deadline - totalTime * lastTry;
  let absentUntil = Math.min(lastStart, started + absence);
  let ambiguous = false;
  for (let count = 1; ; count++) {
    const timeout = Math.min(settings.timeout, deadline - runtime.now());
    const info = { operation: job.operation, reference: job.reference, attempt: count };
    const outcome = await attempt(context, job, settings, timeout, info);
    const { error, retry, retryAfter = 0 } = outcome;
    ambiguous ||= !!outcome.ambiguous;
    if (!error) absentUntil = lastStart;
    const room = (error instanceof NotFoundError ? absentUntil : lastStart) - runtime.now();
    if (!retry || count >= tries || room <= retryAfter) return { ...outcome, ambiguous };

    const delay = Math.min(room, retryAfter + runtime.random() * Math.min(maxDelay, minDelay * 2 ** (count - 1)));
    notify(hooks.onRetry, { ...info, delay, error: aboutError(error) });
    // When the signal ends the pause, the next try finds that out before it sends anything.
    await new Promise<void>((resolve) => atEnd(runtime, delay, settings.signal, resolve));
  }
}
