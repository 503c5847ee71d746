import { ignore } from "./options.ts";
import { afterOrAbort } from "./runtime.ts";
import type { Runtime } from "./runtime.ts";

/** Decides when a client may send requests, so that all its calls together keep to the service's rate limit. */
export interface Limiter {
  /**
   * Waits for a turn to send a request. Returns false if the turn does not come within `patience` ms or before the
   * signal is aborted. A retry takes its turn before first attempts.
   */
  enter(patience: number, signal: AbortSignal | undefined, isRetry: boolean): Promise<boolean>;
  /**
   * Ends a turn that began at `entered`.
   *
   * @param retryAfter Only for a request that was refused with 429: the delay that the service asked for, in ms, or 0.
   */
  leave(entered: number, retryAfter?: number): void;
}

// The requests in flight at first, while the service's limit is unknown. Two accepted requests allow one more.
const firstWindow = 16;
// After a refusal, the rate is this share of the refused rate.
const decrease = 0.95;
// What an accepted request adds to the rate, at first and at least. With 1, the rate grows e-fold per second.
const firstGrowth = 4;
const leastGrowth = 0.001;
// After the n-th accepted request since a refusal, the growth is at least this much times n.
const acceleration = 1e-5;
// A refusal is sporadic, and not about the rate, if the rate is below this share of `ceiling`, and if at least
// `manyAccepted` requests were accepted since the last refusal.
const belowCeiling = 0.99;
const manyAccepted = 40;
// A 429 holds back the other calls of the client for at most this time, in ms. A mistaken `Retry-After` would stop them
// for days.
const longestPause = 30_000;
// If a timer fires late, the following requests make up for at most this much of the delay, in ms.
const catchUp = 50;

/**
 * Creates a limiter, which lets requests pass without delay until the service refuses some with 429. Then it sends
 * nothing before `Retry-After` has passed, and continues below the rate that the service accepted.
 *
 * The rate grows with each accepted request and shrinks with each refusal that is about the rate (AIMD). The rate grows
 * fast after the first refusal, because the first estimate can be far too low, and slower after each further refusal.
 * Without refusals it grows faster and faster.
 */
export function createLimiter(runtime: Runtime): Limiter {
  const queue: (() => void)[] = [];
  let inFlight = 0;
  let window = firstWindow;
  let nextTurn = 0;
  let refusedAt = -Infinity;
  let rate = Infinity;
  let growth = firstGrowth;
  // The requests accepted in about the last second.
  let accepted = 0;
  let acceptedAt = 0;
  // The requests accepted since the last refusal. After the pause that follows a refusal, `accepted` is too low.
  let count = 0;
  let since = runtime.now();
  // The rate at the last refusal that was about the rate.
  let ceiling = Infinity;
  // True if the last refusal counts as sporadic.
  let isSporadic = false;
  let cancelTimer = ignore;

  function takeTurn(): boolean {
    const now = runtime.now();
    if (inFlight >= window || now < nextTurn) return false;
    inFlight++;
    nextTurn = Math.max(nextTurn, now - catchUp) + 1000 / rate;
    return true;
  }

  function serveQueue() {
    cancelTimer();
    while (queue.length > 0 && takeTurn()) queue.shift()!();
    if (queue.length > 0 && inFlight < window) {
      cancelTimer = runtime.after(Math.ceil(nextTurn - runtime.now()), serveQueue);
    }
  }

  return {
    async enter(patience, signal, isRetry) {
      if (patience <= Math.max(0, nextTurn - runtime.now())) return false;
      if (!queue.length && !signal?.aborted && takeTurn()) return true;
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
      accepted *= Math.exp((acceptedAt - now) / 1000);
      acceptedAt = now;
      if (retryAfter === undefined) {
        accepted++;
        count++;
        rate += Math.max(growth, count * acceleration);
        window = inFlight + queue.length > 0 ? window + 0.5 : firstWindow;
      } else {
        const pause = Math.min(retryAfter, longestPause);
        // Only the first refusal counts for the requests in flight at that moment. If it seemed sporadic but more of them
        // are refused, the reason was the rate after all.
        const isFirst = entered > refusedAt;
        if (isFirst) {
          isSporadic = count >= manyAccepted && rate <= ceiling * belowCeiling;
          refusedAt = now;
        }
        if (isFirst !== isSporadic) {
          isSporadic = false;
          ceiling = Math.min(rate, Math.max(accepted, (count * 1000) / Math.max(1000, now - since)));
          rate = Math.max(
            1,
            // After a quiet time `accepted` is low, which says nothing about a known rate.
            growth < 1 ? rate / 2 : 1,
            decrease * ceiling,
          );
          growth = Math.max(leastGrowth, growth / 8);
        }
        if (isFirst) {
          count = 0;
          since = now + pause;
        }
        window = firstWindow;
        nextTurn = Math.max(nextTurn, now + pause);
      }
      serveQueue();
    },
  };
}
