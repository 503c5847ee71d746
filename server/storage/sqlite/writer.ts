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

  function transaction<T>(work: () => T): T {
    db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      // Some errors (a full disk) have rolled back already.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  function runAlone(job: Job) {
    try {
      job.resolve(transaction(job.work));
    } catch (error) {
      job.reject(error);
    }
  }

  function flush() {
    const batch = jobs;
    jobs = [];
    const [first] = batch;
    if (first === undefined) return;
    if (batch.length === 1) return runAlone(first);
    let results: unknown[];
    try {
      results = transaction(() => batch.map((job) => job.work()));
    } catch {
      for (const job of batch) runAlone(job);
      return;
    }
    for (const [index, job] of batch.entries()) job.resolve(results[index]);
  }

  function write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (jobs.length === 0) setImmediate(flush);
      jobs.push({ work, resolve, reject });
    });
  }

  return { write, flush };
}
