import type { DatabaseSync } from "node:sqlite";
import { UnknownOutcome } from "../storage-error.ts";
import { troubleOf } from "./health.ts";

/** The share of time for commits of background work alone. */
const SHARE = 0.2;
/** The time that commits of background work may take without a pause, in milliseconds. */
const BURST_MS = 50;
/** The longest pause. On a slow disk or a busy machine, webhooks must still be sent. */
const LONGEST_PAUSE_MS = 20;

/**
 * Limits the share of time that commits of background work block the event loop: each waits until the disk has flushed.
 * The attempts of a thousand receivers end one by one; if each had a commit, requests would wait for the disk most of the
 * time. A short chain of steps, such as settling one payout and sending its webhook, is not delayed. Returns a function
 * that counts how long a commit has blocked, and returns how many milliseconds the next must wait.
 */
function createPace(): (spentMs?: number) => number {
  let credit = BURST_MS;
  let creditedAt = performance.now();
  return (spentMs = 0) => {
    const at = performance.now();
    const earned = Math.min(BURST_MS, credit + (at - creditedAt) * SHARE);
    credit = Math.max(earned - spentMs, -LONGEST_PAUSE_MS * SHARE);
    creditedAt = at;
    return Math.max(0, -credit / SHARE);
  };
}

/**
 * Runs `work` inside a transaction. Resolves with its result once the transaction is committed.
 * @param items what the work is about, for reports: one request each
 */
export type Write = <T>(work: () => T, items?: { readonly length: number }) => Promise<T>;

interface Hooks {
  /** Runs before each transaction; if it throws, nothing is written. */
  beforeBegin?(): void;
  /** Runs after each commit, with the number of items and the time from the start of the transaction. */
  onCommit?(items: number, durationMs: number): void;
  onRollback?(error: unknown): void;
}

export interface Writer {
  /** Commits at the end of this turn of the event loop. */
  write: Write;
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
}

interface Job {
  work: () => unknown;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
  /** True if no request waits for the job. */
  isSoon: boolean;
  /** True if the job's commit must be flushed to disk. */
  flushed: boolean;
  items: { readonly length: number };
}

const ONE = { length: 1 };

/**
 * Group commit (D28): the work of one turn of the event loop shares one transaction, so that many creates cost one flush
 * to disk. If one job of a batch throws, the batch is rolled back and each job is retried in a separate transaction.
 */
export function createWriter(db: DatabaseSync, hooks: Hooks): Writer {
  const pace = createPace();
  let jobs: Job[] = [];
  /** True if the jobs' commit is due without further delay. */
  let isDue = false;
  /** The timer that will commit jobs that no request waits for, when the pace allows. */
  let timer: NodeJS.Timeout | undefined;
  /** True while commits are flushed to disk, as `openDatabase` sets it. */
  let flushing = true;

  function setFlushing(wanted: boolean) {
    if (flushing === wanted) return;
    db.exec(`PRAGMA synchronous = ${wanted ? "FULL" : "NORMAL"}`);
    flushing = wanted;
  }

  function run(batch: readonly Job[]): void {
    const begun = performance.now();
    try {
      hooks.beforeBegin?.();
      setFlushing(batch.some(({ flushed }) => flushed));
      db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      for (const job of batch) job.reject(error);
      return;
    }
    let results: unknown[];
    try {
      results = batch.map((job) => job.work());
      db.exec("COMMIT");
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (db.isTransaction) db.exec("ROLLBACK");
      hooks.onRollback?.(error);
      // After a flush has failed it is unknown what is stored, and a repetition might seem to succeed.
      if (troubleOf(error) === "unflushed")
        for (const job of batch) job.reject(new UnknownOutcome((error as Error).message, { cause: error }));
      else if (batch.length === 1) batch[0]!.reject(error);
      else for (const job of batch) run([job]);
      return;
    }
    for (const [index, job] of batch.entries()) job.resolve(results[index]);
    const count = batch.reduce((sum, { items }) => sum + items.length, 0);
    hooks.onCommit?.(count, performance.now() - begun);
  }

  function flush() {
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    const batch = jobs;
    jobs = [];
    if (batch.length === 0) return;
    const begun = performance.now();
    run(batch);
    if (batch.every(({ isSoon }) => isSoon)) pace(performance.now() - begun);
  }

  function add<T>(work: () => T, items = ONE, { isSoon = false, flushed = true } = {}): Promise<T> {
    if (!isDue && !(isSoon && timer)) {
      const delay = isSoon ? pace() : 0;
      if (delay > 0) timer = setTimeout(flush, delay);
      else {
        isDue = true;
        setImmediate(flush);
      }
    }
    return new Promise<T>((resolve, reject) => jobs.push({ work, items, resolve, reject, isSoon, flushed }));
  }

  return {
    write: (work, items) => add(work, items),
    writeSoon: (work, items) => add(work, items, { isSoon: true }),
    writeUnflushed: (work, items) => add(work, items, { isSoon: true, flushed: false }),
    writeApart: (work, items = ONE) =>
      new Promise(
        (resolve, reject) => void setImmediate(run, [{ work, items, resolve, reject, isSoon: true, flushed: false }]),
      ),
  };
}
