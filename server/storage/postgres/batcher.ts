import { ServiceError } from "../../domain/errors.ts";
import { withBudget, withinBudget } from "../../domain/in-progress.ts";
import { overloaded, UnknownOutcome } from "../storage-error.ts";
import { isUnavailable } from "./errors.ts";

export interface BatcherOptions {
  /** How many batches may be in progress. */
  concurrency: number;
  /** Items in a batch. */
  largest: number;
  /** How many items may wait; further items are refused. */
  capacity: number;
  /** How long an item may wait for its batch, in milliseconds. */
  patienceMs: number;
}

/** An item is begun only if this time is left, in milliseconds: a statement and its commit may need so long. */
const LEAST_MS = 4_000;

interface Job<Item, Result> {
  item: Item;
  since: number;
  /** The time by which the item's request must have its response. */
  deadline: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Processes single items in batches. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>;
  /** Resolves when no item waits or is in progress. */
  idle(): Promise<void>;
}

/**
 * Collects the items that arrive while earlier batches are in progress, so that many items share one round trip and one
 * commit. If a batch fails because of one of its items, each is processed alone.
 * @param work processes a batch; returns one result per item, in order
 */
export function createBatcher<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
  { concurrency, largest, capacity, patienceMs }: BatcherOptions,
): Batcher<Item, Result> {
  let waiting: Job<Item, Result>[] = [];
  const inProgress = new Set<Promise<void>>();
  let isScheduled = false;
  /** The timer of the next search for items that have waited too long. */
  let timer: NodeJS.Timeout | undefined;

  async function run(batch: Job<Item, Result>[]): Promise<void> {
    try {
      // The batch must end in time for each of its items, and not only for the request for which it was begun.
      const leftMs = Math.min(...batch.map(({ deadline }) => deadline)) - performance.now();
      const results = await withBudget({ leftMs }, () => work(batch.map(({ item }) => item)));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      if (
        batch.length === 1 ||
        isUnavailable(error) ||
        error instanceof UnknownOutcome ||
        error instanceof ServiceError
      )
        for (const { reject } of batch) reject(error);
      else for (const job of batch) await run([job]);
    }
  }

  /** The time at which an item that still waits is refused. */
  const lastStart = ({ since, deadline }: Job<Item, Result>) => Math.min(since + patienceMs, deadline - LEAST_MS);

  function refuseOld() {
    const now = performance.now();
    const old = waiting.filter((job) => lastStart(job) < now);
    if (old.length === 0) return;
    waiting = waiting.filter((job) => lastStart(job) >= now);
    for (const { reject } of old) reject(overloaded());
  }

  /** Refuses items in time even if the batches in progress do not end. */
  function watch() {
    if (timer || waiting.length === 0) return;
    const untilOld = waiting.reduce((first, job) => Math.min(first, lastStart(job)), Infinity) - performance.now();
    timer = setTimeout(
      () => {
        timer = undefined;
        refuseOld();
        watch();
      },
      Math.max(untilOld, 0) + 1,
    ).unref();
  }

  function start() {
    refuseOld();
    const batch = waiting.splice(0, largest);
    if (batch.length === 0) return;
    const done = run(batch).finally(() => {
      inProgress.delete(done);
      if (waiting.length > 0) start();
    });
    inProgress.add(done);
  }

  /** Starts batches at the end of this turn of the event loop, when all of its items have arrived. */
  function schedule() {
    if (isScheduled || inProgress.size >= concurrency) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (inProgress.size < concurrency && waiting.length > 0) start();
    });
  }

  return {
    add(item) {
      if (waiting.length >= capacity) return Promise.reject(overloaded());
      return withinBudget(
        (deadline) =>
          new Promise((resolve, reject) => {
            waiting.push({ item, since: performance.now(), deadline, resolve, reject });
            schedule();
            watch();
          }),
      );
    },
    async idle() {
      while (isScheduled || inProgress.size > 0) {
        if (isScheduled) await new Promise(setImmediate);
        await Promise.all(inProgress);
      }
    },
  };
}
