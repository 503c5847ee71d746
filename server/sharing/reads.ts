import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Storage } from "../domain/storage.ts";
import type { Turns } from "./turns.ts";

export interface ReadLimits {
  /** How many reads of a merchant, and of all merchants, may be in progress at a time. */
  perMerchant: number;
  total: number;
}

/** How long a read waits for its turn, and how many reads of a merchant may wait. */
const WAIT_MS = 5_000;
const MOST_WAITING = 256;

export interface Reads {
  /**
   * Reads when it is the merchant's turn. Merchants that wait take turns.
   * @throws ServiceError `rate_limited` if the turn does not come soon
   */
  run<T>(merchantId: string, read: () => Promise<T>): Promise<T>;
}

/** Limits the reads that are in progress, so that a merchant's lists and exports do not hold up the payments of others. */
export function createReads({ perMerchant, total, clock }: ReadLimits & { clock: Clock }): Reads {
  const running = new Map<string, number>();
  /** The functions that begin the waiting reads, by merchant. The merchant that was served last is last. */
  const waiting = new Map<string, Set<() => void>>();
  let all = 0;
  const ofMerchant = (id: string) => running.get(id) ?? 0;

  function begin(merchantId: string) {
    all += 1;
    running.set(merchantId, ofMerchant(merchantId) + 1);
  }

  function beginNext() {
    for (const [merchantId, queue] of waiting) {
      if (all >= total) return;
      if (ofMerchant(merchantId) >= perMerchant) continue;
      const [next] = queue;
      queue.delete(next!);
      waiting.delete(merchantId);
      if (queue.size > 0) waiting.set(merchantId, queue);
      begin(merchantId);
      next!();
    }
  }

  function end(merchantId: string) {
    all -= 1;
    const left = ofMerchant(merchantId) - 1;
    if (left > 0) running.set(merchantId, left);
    else running.delete(merchantId);
    beginNext();
  }

  async function turn(merchantId: string): Promise<void> {
    if (all < total && ofMerchant(merchantId) < perMerchant) return begin(merchantId);
    const queue = waiting.get(merchantId) ?? new Set();
    if (queue.size >= MOST_WAITING) throw tooMany();
    waiting.set(merchantId, queue);
    const begun = new AbortController();
    const wake = () => begun.abort();
    queue.add(wake);
    await clock.sleep(WAIT_MS, begun.signal);
    if (begun.signal.aborted) return;
    queue.delete(wake);
    if (queue.size === 0 && waiting.get(merchantId) === queue) waiting.delete(merchantId);
    throw tooMany();
  }

  return {
    async run(merchantId, read) {
      await turn(merchantId);
      try {
        return await read();
      } finally {
        // Let requests run in between, because SQLite's reads block the event loop.
        void nextTurn().then(() => end(merchantId));
      }
    },
  };
}

const tooMany = () =>
  new ServiceError("rate_limited", "Too many lists, searches or exports at a time. Retry when one of them has ended.", {
    retryAfterSeconds: 1,
  });

/** The methods of the storage that read many rows for a merchant. */
const LISTS = [
  "listDisbursements",
  "listCheckouts",
  "listStatement",
  "listEvents",
  "listDeliveries",
  "listRequests",
  "listReplays",
  "listAudit",
  "countDeliveries",
] as const satisfies readonly (keyof Storage)[];

type List = (query: string | { merchantId?: string }, ...more: unknown[]) => Promise<unknown>;

/**
 * Returns the storage with limited lists. Each read of a list takes a turn, also in an export. If a test later replaces
 * a method of the given storage, the new method is used here too.
 */
export function withLimitedLists(storage: Storage, reads: Reads, turns: Turns): Storage {
  const limited = Object.create(storage) as Storage;
  for (const name of LISTS) {
    const list: List = (query, ...more) => {
      const merchantId = typeof query === "string" ? query : (query.merchantId ?? "");
      return reads.run(merchantId, async () => {
        await turns.take(merchantId, "others");
        return (storage[name] as List)(query, ...more);
      });
    };
    Object.assign(limited, { [name]: list });
  }
  return limited;
}
