import { ServiceError } from "../../domain/errors.ts";
import { withTimeLeft, runInTimeLeft } from "../../domain/in-progress.ts";
import type { Executor, Work } from "../portable/query.ts";
import type { Values } from "../rows.ts";
import { overloaded, UnknownOutcome } from "../storage-error.ts";
import type { Database, Send } from "./database.ts";
import { isUnavailable } from "./errors.ts";

interface BatchOptions {
  /** How many batches may be in progress. */
  concurrency: number;
  /** The most items in a batch. */
  largest: number;
}

/** How long an item may wait for its batch, in milliseconds. */
const PATIENCE_MS = 3_000;
/** An item is begun only if this time is left, in milliseconds: a statement and its commit may need so long. */
const LEAST_MS = 4_000;

interface Job<Item, Result> {
  item: Item;
  /** The time after which the item is not begun any more. */
  lastStart: number;
  /** The time by which the item's request must have its response. */
  deadline: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Returns a function that processes an item. Collects the items that arrive while earlier batches are in progress, so that
 * many items share one round trip and one commit. If a batch fails because of one of its items, each is processed alone.
 * @param work processes a batch; returns one result per item, in order
 */
export function inBatches<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
  { concurrency, largest }: BatchOptions,
): (item: Item) => Promise<Result> {
  let waiting: Job<Item, Result>[] = [];
  let inProgress = 0;
  let isScheduled = false;

  async function run(batch: Job<Item, Result>[]): Promise<void> {
    try {
      // The batch must end in time for each of its items, and not only for the request for which it was begun.
      const leftMs = Math.min(...batch.map(({ deadline }) => deadline)) - performance.now();
      const results = await withTimeLeft({ leftMs }, () => work(batch.map(({ item }) => item)));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      const concernsAll = isUnavailable(error) || error instanceof UnknownOutcome || error instanceof ServiceError;
      if (batch.length === 1 || concernsAll) for (const { reject } of batch) reject(error);
      else for (const job of batch) await run([job]);
    }
  }

  async function runWaiting(): Promise<void> {
    inProgress += 1;
    while (waiting.length > 0) {
      const now = performance.now();
      const { late = [], rest = [] } = Object.groupBy(waiting, ({ lastStart }) => (lastStart < now ? "late" : "rest"));
      for (const { reject } of late) reject(overloaded());
      const batch = rest.splice(0, largest);
      waiting = rest;
      if (batch.length > 0) await run(batch);
    }
    inProgress -= 1;
  }

  /** Starts batches at the end of this turn of the event loop, when all of its items have arrived. */
  function schedule() {
    if (isScheduled || inProgress >= concurrency) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (inProgress < concurrency && waiting.length > 0) void runWaiting();
    });
  }

  return (item) =>
    runInTimeLeft(
      (deadline) =>
        new Promise((resolve, reject) => {
          const lastStart = Math.min(performance.now() + PATIENCE_MS, deadline - LEAST_MS);
          waiting.push({ item, lastStart, deadline, resolve, reject });
          schedule();
        }),
    );
}

/** Executes portable work inside a transaction. */
async function runIn<T>(send: Send, work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) step = work.next(await Promise.all(step.value.map(send)));
  return step.value;
}

export function postgresExecutor(
  { read: send, transaction }: Database,
  shared: Pick<Executor, "sealing" | "emit">,
): Executor {
  const read: Executor["read"] = async (query) => (await send(query)).rows;
  return {
    ...shared,
    database: "postgres",
    read,
    write: (work, options) => transaction((sendIn) => runIn(sendIn, work()), options),
    // One batch at a time: while a batch is being committed, the next batch fills up.
    together: (work, { largest = 256, idempotent = false } = {}) =>
      inBatches((items) => transaction((sendIn) => runIn(sendIn, work(items)), { items: items.length, idempotent }), {
        concurrency: 1,
        largest,
      }),
    finder(select, columns) {
      const columnsWithPlace = { ...columns, place: "bigint" };
      const text = `SELECT given.place, found.* FROM :rows CROSS JOIN LATERAL (${select}) AS found`;
      return inBatches(
        async (wanted: Values[]) => {
          const values = wanted.map((row, place) => ({ ...row, place }));
          const rows = await read({ text, rows: { columns: columnsWithPlace, values } });
          const found = new Map(rows.map((row) => [row.place as number, row]));
          return wanted.map((_, place) => found.get(place));
        },
        { concurrency: 2, largest: 256 },
      );
    },
  };
}
