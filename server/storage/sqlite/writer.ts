import type { DatabaseSync } from "node:sqlite";

/** Runs `work` inside a transaction; resolves with its result once that is committed. */
export type Write = <T>(work: () => T) => Promise<T>;

interface Job {
  work: () => unknown;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit (D28): what arrives in one turn of the event loop shares one transaction, so that many creates cost one
 * flush to disk. Should one of them throw, none of them has happened, and each is tried again alone.
 */
export function createWriter(db: DatabaseSync): { write: Write; flush(): void } {
  let jobs: Job[] = [];

  /** Runs all of a batch in one transaction; none of it has happened when one of them throws. */
  function run(batch: readonly Job[]): void {
    try {
      db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      // Another process holds the database, for longer than we wait: each by itself would wait as long again.
      for (const job of batch) job.reject(error);
      return;
    }
    let results: unknown[];
    try {
      results = batch.map((job) => job.work());
      db.exec("COMMIT");
    } catch (error) {
      // Some errors (a full disk) have rolled back already.
      if (db.isTransaction) db.exec("ROLLBACK");
      if (batch.length === 1) batch[0]!.reject(error);
      else for (const job of batch) run([job]);
      return;
    }
    for (const [index, job] of batch.entries()) job.resolve(results[index]);
  }

  function flush() {
    const batch = jobs;
    jobs = [];
    if (batch.length > 0) run(batch);
  }

  function write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (jobs.length === 0) setImmediate(flush);
      jobs.push({ work, resolve, reject });
    });
  }

  return { write, flush };
}
