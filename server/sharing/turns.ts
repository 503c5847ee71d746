import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import type { EventLoop } from "./event-loop.ts";

/**
 * How many milliseconds of a turn of the event loop requests may use before no further request begins in this turn.
 * Other work waits.
 */
const TURN_MS = 4;
/** The same time if several merchants have work: a merchant with little work must not wait for long turns. */
const SHARED_TURN_MS = 1;
/** How many milliseconds of a turn attempts of webhooks may use before no further attempt begins in this turn. */
const WEBHOOKS_MS = 1;
/** How many requests of a merchant may wait. Further requests are refused. */
const MOST_WAITING = 1_024;
/** A merchant's use counts half as much after each such time, in milliseconds. */
const HALVED_EVERY_MS = 1_000;
/**
 * The least time counted for a request or webhook, since a part of its work is done later. A merchant's use that is
 * smaller is forgotten.
 */
const LEAST_MS = 0.05;

/** Creates and verifies are payments. The other requests are lists, pages, exports, controls and replays. */
export type WorkKind = "payments" | "webhooks" | "others";
/**
 * When `others` have lately used more milliseconds than this, about a tenth of the time, payments and webhooks go
 * first. Further `others` then begin only while the event loop is busy for less than this share of the time.
 */
const OTHERS_MS = 150;
const OTHERS_UTILIZATION = 0.9;
const ALL: readonly WorkKind[] = ["payments", "webhooks", "others"];
const FIRST: readonly WorkKind[] = ["payments", "webhooks"];

interface Merchant extends Record<WorkKind, (() => void)[]> {
  /** The time that this merchant's work has used lately, in milliseconds. */
  usedMs: number;
}

/** Decides whose work the event loop does next (D82). */
export interface Turns {
  /**
   * Resolves when it is the turn of a merchant's work; undefined if the turn is now. A merchant's payments go before
   * the merchant's webhooks.
   * @throws ServiceError `rate_limited` if too many of the merchant's requests of this kind wait already
   */
  take(merchantId: string, work: WorkKind): Promise<void> | undefined;
}

/**
 * Shares the event loop between merchants: of the merchants whose work waits, the merchant that has used the least time
 * lately is next. A merchant with one request does not wait for another merchant's thousand requests, however much each
 * costs. A merchant alone may use all of the time.
 */
export function createTurns(clock: Pick<Clock, "monotonic">, loop: EventLoop): Turns {
  const merchants = new Map<string, Merchant>();
  const waiting = new Set<Merchant>();
  /** The work that began last, and when. It continues until the next callback. */
  let last: { merchant: Merchant; work: WorkKind; at: number } | undefined;
  let halvedAt = clock.monotonic();
  let turnBegun: number | undefined;
  /** The time that webhooks have used in this turn. */
  let webhooksMs = 0;
  let utilization = 0;
  /** The time that `others` have used lately. */
  let othersMs = 0;

  function merchantOf(id: string): Merchant {
    const known = merchants.get(id) ?? { usedMs: 0, payments: [], webhooks: [], others: [] };
    merchants.set(id, known);
    return known;
  }

  /** Lets use count less as time passes, and forgets merchants that have used nothing lately. */
  function halve(now: number) {
    const times = Math.floor((now - halvedAt) / HALVED_EVERY_MS);
    if (times === 0) return;
    halvedAt += times * HALVED_EVERY_MS;
    othersMs /= 2 ** times;
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
    if (last.work === "others") othersMs += usedMs;
    if (last.work === "webhooks") webhooksMs += usedMs;
    last = undefined;
  }

  const othersGoLast = () => merchants.size > 1 && othersMs > OTHERS_MS;

  function mayBegin(work: WorkKind): boolean {
    if (work === "webhooks") return webhooksMs < WEBHOOKS_MS;
    return work === "payments" || utilization < OTHERS_UTILIZATION || !othersGoLast();
  }

  /**
   * Finds the next work among the waiting work of these kinds that may begin in this turn: the work of the merchant
   * that has used the least time.
   */
  function leastUsed(kinds: readonly WorkKind[]) {
    let least: { merchant: Merchant; work: WorkKind } | undefined;
    for (const merchant of waiting) {
      if (least && merchant.usedMs >= least.merchant.usedMs) continue;
      const work = kinds.find((kind) => merchant[kind].length > 0 && mayBegin(kind));
      if (work) least = { merchant, work };
    }
    return least;
  }

  const next = () => (othersGoLast() ? leastUsed(FIRST) : undefined) ?? leastUsed(ALL);

  /** True if this turn may begin more. */
  function hasTime(): boolean {
    const now = clock.monotonic();
    utilization = loop.utilization() ?? utilization;
    count(now);
    halve(now);
    if (turnBegun === undefined) {
      turnBegun = now;
      loop.defer(endTurn);
    }
    return now - turnBegun < (merchants.size > 1 ? SHARED_TURN_MS : TURN_MS);
  }

  /** Begins the next work. Each waiting request and webhook defers a call, which may begin the work of another. */
  function begin() {
    const isOpen = hasTime();
    const chosen = isOpen ? next() : undefined;
    // If only `others` wait, the utilization after a pause shows whether the loop has time for them.
    if (!chosen) return isOpen && webhooksMs < WEBHOOKS_MS ? loop.rest(begin) : loop.defer(begin);
    const { merchant, work } = chosen;
    const resolve = merchant[work].shift()!;
    if (ALL.every((kind) => merchant[kind].length === 0)) waiting.delete(merchant);
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
  function isNext(merchant: Merchant, work: WorkKind): boolean {
    const isOpen = hasTime();
    const least = next();
    if (!least) return isOpen && mayBegin(work);
    const goesFirst = work !== "others";
    if (othersGoLast() && goesFirst !== (least.work !== "others")) return goesFirst;
    return merchant.usedMs < least.merchant.usedMs;
  }

  function wait(merchant: Merchant, work: WorkKind): Promise<void> {
    waiting.add(merchant);
    loop.defer(begin);
    return new Promise((resolve) => merchant[work].push(resolve));
  }

  return {
    take(merchantId, work) {
      const merchant = merchantOf(merchantId);
      if (work !== "webhooks" && merchant[work].length >= MOST_WAITING) return Promise.reject(tooMany());
      if (!isNext(merchant, work)) return wait(merchant, work);
      last = { merchant, work, at: clock.monotonic() };
      return undefined;
    },
  };
}

const tooMany = () =>
  new ServiceError("rate_limited", "Too many of your requests wait already. Send fewer at a time.", {
    retryAfterSeconds: 1,
  });
