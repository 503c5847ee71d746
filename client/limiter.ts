import { ignore } from "./options.ts";
import { afterOrAbort } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";

/** Decides when a client may send requests, so that all its calls together keep to the service's rate limit. */
export interface Limiter {
  /**
   * Waits for a turn to send a request. Returns false if none comes within `patience` ms or before the signal is
   * aborted. A retry takes its turn before first attempts.
   */
  enter(patience: number, signal: AbortSignal | undefined, isRetry: boolean): Promise<boolean>;
  /**
   * Ends a turn that began at `entered`.
   *
   * @param retryAfter Only for a request that was refused with 429: the delay that the service asked for, in ms, or 0.
   */
  leave(entered: number, retryAfter?: number): void;
}

// The requests in flight at first, while the service's limit is unknown. Two responses that are not a 429 allow one more.
const firstWindow = 16;
// A rate starts at this share of the one that was refused.
const decrease = 0.9;
// How long a rate takes to return to the one that was refused, in ms: at first and at most. The first estimate of the
// service's limit can be far too low, so it is corrected soon. After each further refusal it takes six times as long.
const [shortestReturn, longestReturn] = [250, 8000];
// How much of a delay by a late timer the following requests make up for, in ms.
const catchUp = 50;

/**
 * Creates a limiter, which lets requests pass without delay until the service refuses one with 429. Then it sends
 * nothing before `Retry-After` has passed, and continues below the rate that the service accepted. The rate grows as in
 * CUBIC (RFC 9438): quickly at first, slowly near the rate that was refused, and quickly again beyond it.
 */
export function createLimiter(runtime: Runtime): Limiter {
  const queue: (() => void)[] = [];
  let inFlight = 0;
  let window = firstWindow;
  let nextTurn = 0;
  let refusedAt = -Infinity;
  let resumedAt = 0;
  let refusedRate = Infinity;
  let returnTime = shortestReturn / 6;
  let accepted = 0;
  let acceptedAt = 0;
  let cancelTimer = ignore;

  /** The permitted requests per second. */
  const rateAt = (now: number) =>
    refusedRate * (1 + (1 - decrease) * (Math.max(0, now - resumedAt) / returnTime - 1) ** 3);
  /** The requests accepted in about the last second. */
  const acceptedRate = (now: number) => accepted * Math.exp((acceptedAt - now) / 1000);

  function takeTurn(): boolean {
    const now = runtime.now();
    if (inFlight >= window || now < nextTurn) return false;
    inFlight++;
    nextTurn = Math.max(nextTurn, now - catchUp) + 1000 / rateAt(now);
    return true;
  }

  function serveQueue() {
    cancelTimer();
    while (queue.length > 0 && takeTurn()) queue.shift()!();
    if (queue.length > 0 && inFlight < window) {
      cancelTimer = runtime.after(Math.ceil(nextTurn - runtime.now()), serveQueue);
    }
  }

  function refuse(entered: number, now: number, retryAfter: number) {
    // Requests that were in flight at a refusal are refused for the same reason.
    if (entered > refusedAt) {
      refusedRate = Math.max(1, Math.min(rateAt(now), acceptedRate(now)));
      returnTime = Math.min(longestReturn, returnTime * 6);
      refusedAt = now;
    }
    window = firstWindow;
    resumedAt = nextTurn = Math.max(resumedAt, now + retryAfter);
  }

  return {
    async enter(patience, signal, isRetry) {
      if (signal?.aborted) return false;
      if (queue.length === 0 && takeTurn()) return true;
      if (nextTurn - runtime.now() > patience) return false;
      return new Promise((resolve) => {
        const start = () => {
          cancel();
          resolve(true);
        };
        if (isRetry) queue.unshift(start);
        else queue.push(start);
        const cancel = afterOrAbort(runtime, patience, signal, () => {
          queue.splice(queue.indexOf(start), 1);
          serveQueue();
          resolve(false);
        });
        serveQueue();
      });
    },
    leave(entered, retryAfter) {
      const now = runtime.now();
      inFlight--;
      if (retryAfter === undefined) {
        accepted = acceptedRate(now) + 1;
        acceptedAt = now;
        window = inFlight + queue.length > 0 ? window + 0.5 : firstWindow;
      } else {
        refuse(entered, now, retryAfter);
      }
      serveQueue();
    },
  };
}
