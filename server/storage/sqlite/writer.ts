import type { DatabaseSync } from "node:sqlite";
import { overloaded } from "../overloaded.ts";
import type { Pace } from "./pace.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { isBusy } from "./sqlite-errors.ts";

/** Runs `work` inside a transaction. Resolves with its result once the transaction is committed. */
export type Write = <T>(work: () => T) => Promise<T>;

interface Hooks {
  /** Runs before each transaction; if it throws, nothing is written. */
  beforeBegin?(): void;
  /** Runs at the beginning of each transaction. */
  begun?(): void;
  /** Runs at the end of each transaction. */
  beforeCommit?(): void;
  /** Runs after each commit. If it throws, the outcome of the writes is unknown. */
  afterCommit?(): void;
  /**
   * Runs after each commit that `afterCommit` accepts, with the number of jobs and the time from the start of the
   * transaction.
   */
  onCommit?(jobs: number, durationMs: number): void;
  onRollback?(): void;
  sleep(milliseconds: number): Promise<void>;
  /** Limits the commits of `writeSoon` and `writeUnflushed`. */
  pace?: Pace;
  /** How many writes may wait. Further calls of `writeNew` are refused. */
  capacity?: number;
}

/** While another program holds the write lock, the writes are retried this often, and reads go on. */
const RETRY_EVERY_MS = 25;
const MOST_TRIES = 200;
const CAPACITY = 10_000;

/** Runs `work`, which only reads, in the read transaction of this turn of the event loop. */
export type Read = <T>(work: () => T) => T;

export interface Writer {
  /** Commits at the end of this turn of the event loop. */
  write: Write;
  /** Like `write`, but refuses the work if too much waits. For the first write of a request. */
  writeNew: Write;
  /**
   * Commits with the next write, or alone a few milliseconds later. For work for which no request waits, so that such
   * work does not occupy the disk.
   */
  writeSoon: Write;
  /**
   * Commits like `writeSoon`, but without a flush to disk, unless another job of the commit needs one. The work
   * survives the death of the process; a power failure can undo it. For work that can be repeated without harm.
   */
  writeUnflushed: Write;
  /** Commits alone, in a later turn and without a flush to disk. For work that must not share a payment's transaction. */
  writeApart: Write;
  read: Read;
}

interface Job {
  work: () => unknown;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
  /** How often another program's lock has prevented the job. */
  tries: number;
  /** True if the job's commit must be flushed to disk. */
  flushed: boolean;
}

/**
 * Group commit (D28): the work of one turn of the event loop shares one transaction, so that many creates cost one flush
 * to disk. If one job of a batch throws, the batch is rolled back and each job is retried in a separate transaction.
 *
 * The reads of one turn share a transaction too, so that they take SQLite's locks once. This transaction ends before
 * the turn's writes begin, so that later reads see those writes.
 */
export function createWriter(db: DatabaseSync, hooks: Hooks): Writer {
  let jobs: Job[] = [];
  /** True if the jobs' commit is due without further delay. */
  let isDue = false;
  /** True if a request waits for one of the jobs. */
  let isAwaited = false;
  /** The timer that will commit jobs that no request waits for. */
  let timer: NodeJS.Timeout | undefined;
  /** True while commits are flushed to disk, as `openDatabase` sets it. */
  let flushing = true;
  const beginReading = db.prepare("BEGIN");
  const endReading = db.prepare("COMMIT");
  let reading = false;

  function endTurn() {
    if (!reading) return;
    reading = false;
    // The storage may have been closed in the turn of a read.
    if (db.isOpen) endReading.run();
  }

  function read<T>(work: () => T): T {
    if (!reading) {
      beginReading.run();
      reading = true;
      setImmediate(endTurn);
    }
    return work();
  }

  /** Rejects the jobs that have been attempted too often. Returns the others. */
  function stillOpen(batch: readonly Job[], error: unknown): Job[] {
    return batch.filter((job) => {
      job.tries += 1;
      if (job.tries >= MOST_TRIES) job.reject(error);
      return job.tries < MOST_TRIES;
    });
  }

  /** Puts jobs that the lock of another program prevents back into the queue, without blocking the event loop. */
  function postpone(batch: readonly Job[], error: unknown) {
    const open = stillOpen(batch, error);
    if (open.length === 0) return;
    if (!isDue) void hooks.sleep(RETRY_EVERY_MS).then(flush);
    isDue = true;
    jobs = [...open, ...jobs];
  }

  function setFlushing(wanted: boolean) {
    if (flushing === wanted) return;
    db.exec(`PRAGMA synchronous = ${wanted ? "FULL" : "NORMAL"}`);
    flushing = wanted;
  }

  /** @param retryLater keeps the jobs that another program's lock prevents */
  function run(batch: readonly Job[], retryLater = postpone): void {
    const begun = performance.now();
    try {
      hooks.beforeBegin?.();
      setFlushing(batch.some(({ flushed }) => flushed));
      db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (isBusy(error)) retryLater(batch, error);
      else for (const job of batch) job.reject(error);
      return;
    }
    let results: unknown[];
    try {
      hooks.begun?.();
      results = batch.map((job) => job.work());
      hooks.beforeCommit?.();
      db.exec("COMMIT");
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (db.isTransaction) db.exec("ROLLBACK");
      hooks.onRollback?.();
      if (batch.length === 1) batch[0]!.reject(error);
      else for (const job of batch) run([job]);
      return;
    }
    try {
      hooks.afterCommit?.();
    } catch (error) {
      const unknown = new UnknownOutcome((error as Error).message, { cause: error });
      for (const job of batch) job.reject(unknown);
      return;
    }
    for (const [index, job] of batch.entries()) job.resolve(results[index]);
    hooks.onCommit?.(batch.length, performance.now() - begun);
  }

  function flush() {
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    endTurn();
    const batch = jobs;
    jobs = [];
    if (batch.length === 0) return;
    if (hooks.pace && !isAwaited) hooks.pace.count(() => run(batch));
    else run(batch);
    isAwaited = false;
  }

  const add = <T>(work: () => T, flushed = true) =>
    new Promise<T>((resolve, reject) => jobs.push({ work, resolve, reject, tries: 0, flushed }));

  function commitThisTurn() {
    if (!isDue) setImmediate(flush);
    isDue = true;
  }

  function write<T>(work: () => T): Promise<T> {
    commitThisTurn();
    isAwaited = true;
    return add(work);
  }

  function writeNew<T>(work: () => T): Promise<T> {
    return jobs.length < (hooks.capacity ?? CAPACITY) ? write(work) : Promise.reject(overloaded());
  }

  /** Plans a commit when the pace allows, unless a commit is planned already. */
  function commitSoon() {
    if (isDue || timer) return;
    const delay = hooks.pace?.delayMs() ?? 0;
    if (delay === 0) commitThisTurn();
    else timer = setTimeout(flush, delay);
  }

  function writeSoon<T>(work: () => T): Promise<T> {
    commitSoon();
    return add(work);
  }

  function writeUnflushed<T>(work: () => T): Promise<T> {
    commitSoon();
    return add(work, false);
  }

  /**
   * Commits jobs in a transaction of their own. While another program locks the database, the jobs are retried without
   * entering the queue.
   */
  function commitApart(batch: readonly Job[]) {
    endTurn();
    run(batch, (postponed, error) => {
      const open = stillOpen(postponed, error);
      if (open.length > 0) void hooks.sleep(RETRY_EVERY_MS).then(() => commitApart(open));
    });
  }

  function writeApart<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      setImmediate(commitApart, [{ work, resolve, reject, tries: 0, flushed: false }]);
    });
  }

  return { write, writeNew, writeSoon, writeUnflushed, writeApart, read };
}
