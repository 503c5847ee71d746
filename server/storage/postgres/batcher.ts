import { ServiceError } from "../../domain/errors.ts";
import { withBudget, withinBudget } from "../../domain/in-progress.ts";
import { overloaded, UnknownOutcome } from "../storage-error.ts";
import { isUnavailable } from "./errors.ts";

export interface BatcherOptions {
  /** How many batches may be in progress. */
  concurrency: number;
  /** The most items in a batch. */
  largest: number;
}

/** How many items may wait; further items are refused. */
const CAPACITY = 10_000;
/** How long an item may wait for its batch, in milliseconds. */
const PATIENCE_MS = 3_000;
/** An item is begun only if this time is left, in milliseconds: a statement and its commit may need so long. */
const LEAST_MS = 4_000;
/** How often to look for items that wait for too long, in milliseconds. */
const WATCH_MS = 200;

interface Job<Item, Result> {
  item: Item;
  /** The time after which the item is not begun any more. */
  lastStart: number;
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
  { concurrency, largest }: BatcherOptions,
): Batcher<Item, Result> {
  let waiting: Job<Item, Result>[] = [];
  const inProgress = new Set<Promise<void>>();
  let isScheduled = false;
  /** Refuses items in time also while no batch ends. */
  let watch: NodeJS.Timeout | undefined;

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

  function refuseLate() {
    const now = performance.now();
    const { late = [], rest = [] } = Object.groupBy(waiting, ({ lastStart }) => (lastStart < now ? "late" : "rest"));
    waiting = rest;
    for (const { reject } of late) reject(overloaded());
  }

  function look() {
    refuseLate();
    if (waiting.length > 0) return;
    clearInterval(watch);
    watch = undefined;
  }

  function start() {
    refuseLate();
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
      if (waiting.length >= CAPACITY) return Promise.reject(overloaded());
      return withinBudget(
        (deadline) =>
          new Promise((resolve, reject) => {
            const lastStart = Math.min(performance.now() + PATIENCE_MS, deadline - LEAST_MS);
            waiting.push({ item, lastStart, deadline, resolve, reject });
            schedule();
            watch ??= setInterval(look, WATCH_MS).unref();
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
