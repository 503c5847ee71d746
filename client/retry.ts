import { aboutError, attempt, notify } from "./attempt.ts";
import type { Context, Data, Failure, Job, Outcome } from "./attempt.ts";
import type { Settings } from "./options.ts";
import { atEnd } from "./runtime.ts";

/** How a call ended, and whether one of its earlier tries may have done what was asked. */
export type Sent = Outcome & { ambiguousBefore: boolean };

// The part of a call's time that is kept for its last try.
const lastTry = 0.05;

/**
 * Sends a request until it is answered for good, or tries or time are used up. Never throws.
 *
 * Pauses grow exponentially, with full jitter, after whatever time the service asked for itself.
 */
export async function send(context: Context, job: Job, settings: Settings): Promise<Sent> {
  const { runtime, hooks } = context;
  const { tries, minDelay, maxDelay, totalTime } = settings.retry;
  const deadline = runtime.now() + totalTime;
  let ambiguousBefore = false;
  for (let count = 1; ; count++) {
    const timeout = Math.min(settings.timeout, deadline - runtime.now());
    const info = { operation: job.operation, reference: job.reference, attempt: count };
    const outcome = await attempt(context, job, { ...settings, timeout }, info);
    const { error, retry, retryAfter = 0, ambiguous } = outcome as Partial<Failure>;
    const room = deadline - totalTime * lastTry - runtime.now();
    if (!error || !retry || count >= tries || room <= retryAfter) return { ...outcome, ambiguousBefore };

    ambiguousBefore ||= !!ambiguous;
    const delay = Math.min(room, retryAfter + runtime.random() * Math.min(maxDelay, minDelay * 2 ** (count - 1)));
    notify(hooks.onRetry, { ...info, delay, error: aboutError(error) });
    // When the signal ends the pause, the next try finds that out before it sends anything.
    await new Promise<void>((resolve) => atEnd(runtime, delay, settings.signal, resolve));
  }
}

/** For what changes nothing: the data, or the error of the last try. */
export async function read(context: Context, job: Job, settings: Settings): Promise<Data> {
  const sent = await send(context, job, settings);
  if (sent.error) throw sent.error;
  return sent.data;
}
