import type { DatabaseSync } from "node:sqlite";

/** Runs `work` inside a transaction. Resolves with its result once the transaction is committed. */
export type Write = <T>(work: () => T) => Promise<T>;

interface Hooks {
  /** Runs at the end of each transaction. */
  beforeCommit?(): void;
  onRollback?(): void;
}

/** Runs `work`, which only reads, in the read transaction of this turn of the event loop. */
export type Read = <T>(work: () => T) => T;

export interface Writer {
  write: Write;
  read: Read;
  /** Immediately runs the work that is waiting for the end of the turn. */
  flush(): void;
}

interface Job {
  work: () => unknown;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit (D28): the work of one turn of the event loop shares one transaction, so that many creates cost one flush
 * to disk. If one job of a batch throws, the batch is rolled back and each job is retried in a separate transaction.
 *
 * The reads of one turn share a transaction too, so that they take SQLite's locks once. This transaction ends before
 * the turn's writes begin, so that later reads see those writes.
 */
export function createWriter(db: DatabaseSync, { beforeCommit, onRollback }: Hooks = {}): Writer {
  let jobs: Job[] = [];
  const beginReading = db.prepare("BEGIN");
  const endReading = db.prepare("COMMIT");
  let reading = false;

  function endTurn() {
    if (!reading) return;
    reading = false;
    endReading.run();
  }

  function read<T>(work: () => T): T {
    if (!reading) {
      beginReading.run();
      reading = true;
      setImmediate(endTurn);
    }
    return work();
  }

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
      beforeCommit?.();
      db.exec("COMMIT");
    } catch (error) {
      // Some errors, such as a full disk, roll back by themselves.
      if (db.isTransaction) db.exec("ROLLBACK");
      onRollback?.();
      if (batch.length === 1) batch[0]!.reject(error);
      else for (const job of batch) run([job]);
      return;
    }
    for (const [index, job] of batch.entries()) job.resolve(results[index]);
  }

  function flush() {
    endTurn();
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

  return { write, read, flush };
}
