import type { DatabaseSync } from "node:sqlite";

/** Runs `work` inside a transaction; resolves with its result once that is committed. */
export type Write = <T>(work: () => T) => Promise<T>;

interface Job {
  work: () => unknown;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit (D28): the work of one turn of the event loop shares one transaction, so that many creates cost one flush
 * to disk. If one job of a batch throws, the batch is rolled back and each job is retried in a transaction of its own.
 * @param beforeCommit runs at the end of each transaction
 */
export function createWriter(db: DatabaseSync, beforeCommit: () => void = () => {}): { write: Write; flush(): void } {
  let jobs: Job[] = [];

  function run(batch: readonly Job[]): void {
    try {
      db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      // Another process has held the database for longer than busy_timeout. Retrying each job would wait as long again.
      for (const job of batch) job.reject(error);
      return;
    }
    let results: unknown[];
    try {
      results = batch.map((job) => job.work());
      beforeCommit();
      db.exec("COMMIT");
    } catch (error) {
      // Some errors, such as a full disk, roll back by themselves.
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
