import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";

/** For how many milliseconds of a turn of the event loop work may begin. Other work waits. */
const TURN_MS = 4;
/** The same if several merchants have work: a merchant with little work must not wait for long turns. */
const SHARED_TURN_MS = 1;
/** For how many milliseconds of a turn attempts of webhooks may begin. */
const WEBHOOKS_MS = 1;
/** The most waiting requests of a merchant. Further requests are refused. */
const MOST_WAITING = 1_024;
/** A merchant's use counts half as much after each such time, in milliseconds. */
const HALVED_EVERY_MS = 1_000;
/**
 * The least time counted for a request or webhook, since a part of its work is done later. A smaller use is forgotten.
 */
const LEAST_MS = 0.05;

type Work = "requests" | "webhooks";

interface Merchant extends Record<Work, (() => void)[]> {
  /** The time that this merchant's work has used lately, in milliseconds. */
  usedMs: number;
}

/** Decides whose work the event loop does next (D82). */
export interface Turns {
  /**
   * Resolves when it is the turn of a merchant's request; undefined if that is now.
   * @throws ServiceError `rate_limited` if too many of the merchant's requests wait already
   */
  take(merchantId: string): Promise<void> | undefined;
  /** Resolves when it is the turn of a merchant's webhook, after the merchant's requests. */
  takeForWebhook(merchantId: string): Promise<void> | undefined;
}

/** Calls back in the next turn of the event loop, after earlier deferred callbacks. */
export type Defer = (callback: () => void) => void;

interface Options {
  clock: Pick<Clock, "monotonic">;
  defer: Defer;
}

/**
 * Shares the event loop between merchants: of the merchants whose work waits, the one that has used the least time
 * lately is next. A merchant with one request does not wait for another merchant's thousand requests, however much each
 * costs. A merchant alone may use all of the time.
 */
export function createTurns({ clock, defer }: Options): Turns {
  const merchants = new Map<string, Merchant>();
  const waiting = new Set<Merchant>();
  /** The work that began last, and when. It continues until the next callback. */
  let last: { merchant: Merchant; work: Work; at: number } | undefined;
  let halvedAt = clock.monotonic();
  let turnBegun: number | undefined;
  /** The time that webhooks have used in this turn. */
  let webhooksMs = 0;

  function merchantOf(id: string): Merchant {
    const known = merchants.get(id) ?? { usedMs: 0, requests: [], webhooks: [] };
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

  /** Counts the time since the last work began, for its merchant. */
  function count(now: number) {
    if (!last) return;
    const usedMs = Math.max(LEAST_MS, now - last.at);
    last.merchant.usedMs += usedMs;
    if (last.work === "webhooks") webhooksMs += usedMs;
    last = undefined;
  }

  /** Of the waiting merchants that may begin work in this turn, the merchant that has used the least. */
  function next(): Merchant | undefined {
    let least: Merchant | undefined;
    for (const merchant of waiting) {
      if (merchant.requests.length === 0 && webhooksMs >= WEBHOOKS_MS) continue;
      if (!least || merchant.usedMs < least.usedMs) least = merchant;
    }
    return least;
  }

  /** True if this turn may begin more. */
  function hasTime(): boolean {
    const now = clock.monotonic();
    count(now);
    halve(now);
    if (turnBegun === undefined) {
      turnBegun = now;
      defer(endTurn);
    }
    return now - turnBegun < (merchants.size > 1 ? SHARED_TURN_MS : TURN_MS);
  }

  /** Begins the next work. Each waiting request and webhook defers a call, which may begin the work of another. */
  function begin() {
    const merchant = hasTime() ? next() : undefined;
    if (!merchant) return defer(begin);
    const work = merchant.requests.length > 0 ? "requests" : "webhooks";
    const resolve = merchant[work].shift()!;
    if (merchant.requests.length === 0 && merchant.webhooks.length === 0) waiting.delete(merchant);
    last = { merchant, work, at: clock.monotonic() };
    resolve();
  }

  /** Called at the start of the next turn, before its deferred work. */
  function endTurn() {
    if (last) count(last.at);
    turnBegun = undefined;
    webhooksMs = 0;
  }

  /** True if a merchant's work is next although it has not waited. */
  function isNext(merchant: Merchant, work: Work): boolean {
    const isOpen = hasTime();
    const least = next();
    if (least) return merchant.usedMs < least.usedMs;
    return isOpen && (work === "requests" || webhooksMs < WEBHOOKS_MS);
  }

  function wait(merchant: Merchant, work: Work): Promise<void> {
    waiting.add(merchant);
    defer(begin);
    return new Promise((resolve) => merchant[work].push(resolve));
  }

  function takeFor(merchantId: string, work: Work): Promise<void> | undefined {
    const merchant = merchantOf(merchantId);
    if (!isNext(merchant, work)) return wait(merchant, work);
    last = { merchant, work, at: clock.monotonic() };
    return undefined;
  }

  return {
    take(merchantId) {
      const isFull = (merchants.get(merchantId)?.requests.length ?? 0) >= MOST_WAITING;
      return isFull ? Promise.reject(tooMany()) : takeFor(merchantId, "requests");
    },
    takeForWebhook: (merchantId) => takeFor(merchantId, "webhooks"),
  };
}

const tooMany = () =>
  new ServiceError("rate_limited", "Too many of your requests wait already. Send fewer at a time.", {
    retryAfterSeconds: 1,
  });
