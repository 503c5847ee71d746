import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { MEMORY } from "./database.ts";
import type { LogPages } from "./file-watch.ts";
import { isBusy } from "./sqlite-errors.ts";

const PAGE_BYTES = 4_096;
/** A log of so many pages is written from its beginning again. */
const RESTART_PAGES = { least: 250, most: 12_000 };
/** The part of the free space that the log may take, so that it leaves room for the database on a small volume. */
const PART_OF_FREE = 1 / 8;

/** The sizes of the log, in pages, at which something happens. */
const sizesFor = (restart: number) => ({
  restart,
  /** So many pages are copied at once. A page changes many times, and each checkpoint copies it only once. */
  copy: Math.ceil(restart / 3),
  /** At most so many pages are copied by the event loop, so that the log can be written from its beginning. */
  last: Math.ceil(restart / 8),
  /** Beyond this, commits copy the pages: the thread is too slow, or has failed. */
  most: 2 * restart,
});

/** The thread has a connection of its own. It copies a log, flushes the file, and says so. */
const THREAD = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  let db;
  parentPort.on("message", () => {
    try {
      db ??= new DatabaseSync(workerData.path);
      db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      // The event loop sees this before it sees a message, while a commit is in progress.
      Atomics.store(workerData.failure, 0, error.errcode ?? 1);
    }
    parentPort.postMessage("done");
  });`;

export interface Checkpoints {
  /** Runs after each commit that counts, and throws nothing, because nothing can undo the commit. */
  committed(log: LogPages): void;
  /** Passes on an error of the thread. Runs after each commit, before it counts. */
  look(): void;
  close(): Promise<unknown>;
}

interface Options {
  /** Gets each error of a checkpoint, except that another program was using the log. */
  failed(error: unknown): void;
  /** The free space of the volume, in bytes. */
  freeBytes?(): number;
}

function freeBytesOf(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

/**
 * Copies the write-ahead log into the database file in a thread, because this takes up to a tenth of a second in which the
 * event loop would wait. Only the last pages of a long log are copied by the event loop, while nothing can be written.
 */
export function createCheckpoints(
  db: DatabaseSync,
  path: string,
  { failed, freeBytes = () => freeBytesOf(path) }: Options,
): Checkpoints {
  if (path === MEMORY) return { committed: () => undefined, look: () => undefined, close: async () => undefined };
  const failure = new Int32Array(new SharedArrayBuffer(4));
  let sizes = sizesFor(RESTART_PAGES.most);
  let thread: Worker | undefined;
  let isCopying = false;

  /** Fits the log into the free space. */
  function fit(logPages: number) {
    const pages = (logPages + freeBytes() / PAGE_BYTES) * PART_OF_FREE;
    sizes = sizesFor(Math.round(Math.min(Math.max(pages, RESTART_PAGES.least), RESTART_PAGES.most)));
    db.exec(`PRAGMA wal_autocheckpoint = ${sizes.most}; PRAGMA journal_size_limit = ${sizes.most * PAGE_BYTES}`);
  }

  function look() {
    const errcode = Atomics.exchange(failure, 0, 0);
    if (errcode === 0) return;
    const error = Object.assign(new Error("a checkpoint failed"), { code: "ERR_SQLITE_ERROR", errcode });
    if (!isBusy(error)) failed(error);
  }

  function start(): Worker {
    const workerData = { path, failure };
    const worker = new Worker(THREAD, { eval: true, workerData, execArgv: [], env: {} });
    worker.unref();
    worker.on("message", () => {
      isCopying = false;
      look();
    });
    // Commits copy the pages then.
    worker.on("error", failed);
    return worker;
  }

  function copy({ all, uncopied }: LogPages) {
    const isLong = all >= sizes.restart;
    if (uncopied > (isLong ? sizes.last : sizes.copy)) {
      isCopying = true;
      fit(all);
      (thread ??= start()).postMessage("copy", []);
    } else if (isLong) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  fit(0);
  return {
    committed(log) {
      if (isCopying) return;
      try {
        copy(log);
      } catch (error) {
        if (!isBusy(error)) failed(error);
      }
    },
    look,
    close: async () => thread?.terminate(),
  };
}
