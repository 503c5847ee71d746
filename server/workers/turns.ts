import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";

/** How long requests of a turn of the event loop may begin, in milliseconds. The rest wait for the next turn. */
const TURN_MS = 4;
/** How many requests of a merchant wait. More are refused. */
const MOST_WAITING = 1_024;
/** A merchant's use counts half as much after each such time, in milliseconds. */
const HALVED_EVERY_MS = 1_000;
/** What each request counts at the least, since a part of its work is done later. And the use that is forgotten. */
const LEAST_MS = 0.05;

interface Merchant {
  /** The time that this merchant's requests have used lately, in milliseconds. */
  usedMs: number;
  waiting: (() => void)[];
}

/** What decides whose request the event loop serves next (D82). */
export interface Turns {
  /**
   * Resolves when it is the merchant's turn; undefined if it is now.
   * @throws ServiceError `rate_limited` if too many of the merchant's requests wait already
   */
  take(merchantId: string): Promise<void> | undefined;
}

/** Calls back in the next turn of the event loop, after what was deferred before. */
export type Defer = (callback: () => void) => void;

interface Options {
  clock: Pick<Clock, "monotonic">;
  defer: Defer;
}

/**
 * Shares the event loop between merchants: of the merchants whose requests wait, the one that has used the least time
 * lately is next. So a merchant with one request does not wait for another's thousand, however much each of them costs.
 * A merchant alone may use all of the time.
 */
export function createTurns({ clock, defer }: Options): Turns {
  const merchants = new Map<string, Merchant>();
  const waiting = new Set<Merchant>();
  /** Whose request has begun last, and when. Its work goes on until the next callback. */
  let last: { merchant: Merchant; at: number } | undefined;
  let halvedAt = clock.monotonic();
  let turnBegun: number | undefined;

  function merchantOf(id: string): Merchant {
    const known = merchants.get(id) ?? { usedMs: 0, waiting: [] };
    merchants.set(id, known);
    return known;
  }

  /** Lets use count less as time passes, and forgets merchants that have used nothing lately. */
  function halve(now: number) {
    const times = Math.floor((now - halvedAt) / HALVED_EVERY_MS);
    if (times === 0) return;
    halvedAt += times * HALVED_EVERY_MS;
    for (const [id, merchant] of merchants) {
      merchant.usedMs /= 2 ** times;
      if (merchant.usedMs < LEAST_MS && !waiting.has(merchant)) merchants.delete(id);
    }
  }

  /** Counts the time since the last request began, for its merchant. */
  function count(now: number) {
    if (last) last.merchant.usedMs += Math.max(LEAST_MS, now - last.at);
    last = undefined;
  }

  function next(): Merchant {
    let least: Merchant | undefined;
    for (const merchant of waiting) if (!least || merchant.usedMs < least.usedMs) least = merchant;
    return least!;
  }

  /** True if this turn may begin another request. */
  function hasTime(): boolean {
    const now = clock.monotonic();
    count(now);
    halve(now);
    if (turnBegun === undefined) {
      turnBegun = now;
      defer(endTurn);
    }
    return now - turnBegun < TURN_MS;
  }

  /** Every request that waits has one such callback, which begins whichever is next. */
  function begin() {
    if (!hasTime()) return defer(begin);
    const merchant = next();
    const resolve = merchant.waiting.shift()!;
    if (merchant.waiting.length === 0) waiting.delete(merchant);
    last = { merchant, at: clock.monotonic() };
    resolve();
  }

  /** Is called in the next turn, before what this turn has left. Nothing has waited for the last request. */
  function endTurn() {
    if (last) count(last.at);
    turnBegun = undefined;
  }

  return {
    take(merchantId) {
      const hasBegun = waiting.size === 0 && hasTime();
      const merchant = merchantOf(merchantId);
      if (hasBegun) {
        last = { merchant, at: clock.monotonic() };
        return undefined;
      }
      if (merchant.waiting.length >= MOST_WAITING) return Promise.reject(tooMany());
      waiting.add(merchant);
      defer(begin);
      return new Promise((resolve) => merchant.waiting.push(resolve));
    },
  };
}

const tooMany = () =>
  new ServiceError("rate_limited", "Too many of your requests wait already. Send fewer at a time.", {
    retryAfterSeconds: 1,
  });
