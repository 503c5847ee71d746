import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { MEMORY } from "./database.ts";
import type { LogPages } from "./file-watch.ts";

/** So many pages of the log are copied at once. A page changes many times, and each checkpoint copies it only once. */
const COPY_PAGES = 4_000;
/** A log of so many pages is written from its beginning again. */
const RESTART_PAGES = 12_000;
/** At most so many pages are copied by the event loop, so that the log can be written from its beginning. */
const LAST_PAGES = 1_500;
/** Beyond this, commits copy the pages: the thread is too slow, or has failed. */
const MOST_PAGES = 24_000;
/** The size of the log that SQLite keeps for reuse. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** The thread has a connection of its own. It copies a log, flushes the file, and says so. */
const THREAD = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  const db = new DatabaseSync(workerData);
  db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
  parentPort.on("message", () => {
    try {
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // Another program copies the log, or the file cannot be written, which the next commits show.
    }
    parentPort.postMessage("done");
  });`;

export interface Checkpoints {
  /** Runs after each commit. */
  committed(log: LogPages): void;
  close(): Promise<unknown>;
}

/**
 * Copies the write-ahead log into the database file in a thread, because this takes up to a tenth of a second in which the
 * event loop would wait. Only the last pages of a long log are copied by the event loop, while nothing can be written.
 */
export function createCheckpoints(db: DatabaseSync, path: string): Checkpoints {
  if (path === MEMORY) return { committed: () => undefined, close: async () => undefined };
  db.exec(`PRAGMA wal_autocheckpoint = ${MOST_PAGES}; PRAGMA journal_size_limit = ${KEPT_BYTES}`);
  let thread: Worker | undefined;
  let isCopying = false;

  function start(): Worker {
    const worker = new Worker(THREAD, { eval: true, workerData: path, execArgv: [], env: {} });
    worker.unref();
    worker.on("message", () => (isCopying = false));
    // Commits copy the pages then.
    worker.on("error", () => undefined);
    return worker;
  }

  return {
    committed({ all, uncopied }) {
      if (isCopying) return;
      const isLong = all >= RESTART_PAGES;
      if (uncopied > (isLong ? LAST_PAGES : COPY_PAGES)) {
        isCopying = true;
        (thread ??= start()).postMessage("copy", []);
      } else if (isLong) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    },
    close: async () => thread?.terminate(),
  };
}
