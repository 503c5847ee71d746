import type { DatabaseSync } from "node:sqlite";
import { UnknownOutcome } from "../storage-error.ts";
import { troubleOf } from "./health.ts";

/** Limits the share of time that background work blocks the event loop. */
export interface Pace {
  /** Returns how many milliseconds the next commit must wait. */
  delayMs(): number;
  /** Runs one commit and counts how long it blocks the event loop. */
  count(commit: () => void): void;
}

/** The share of time for commits of background work alone. */
const SHARE = 0.2;
/** The time that commits of background work may take without a pause, in milliseconds. */
const BURST_MS = 50;
/** The longest pause. On a slow disk or a busy machine, webhooks must still be sent. */
const LONGEST_PAUSE_MS = 20;

/**
 * A commit blocks the event loop until the disk has flushed. The attempts of a thousand receivers end one by one; if each
 * had a commit, requests would wait for the disk most of the time. A short chain of steps, such as settling one payout
 * and sending its webhook, is not delayed.
 * @param now returns a monotonic time in milliseconds
 */
export function createPace(now: () => number): Pace {
  let credit = BURST_MS;
  let creditedAt = now();
  function update(spent: number) {
    const at = now();
    const earned = Math.min(BURST_MS, credit + (at - creditedAt) * SHARE);
    credit = Math.max(earned - spent, -LONGEST_PAUSE_MS * SHARE);
    creditedAt = at;
  }
  return {
    delayMs() {
      update(0);
      return Math.max(0, -credit / SHARE);
    },
    count(commit) {
      const begun = now();
      commit();
      update(now() - begun);
    },
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
  /** Limits the commits of `writeSoon` and `writeUnflushed`. */
  pace?: Pace;
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
  let jobs: Job[] = [];
  /** True if the jobs' commit is due without further delay. */
  let isDue = false;
  /** True if a request waits for one of the jobs. */
  let isAwaited = false;
  /** The timer that will commit jobs that no request waits for. */
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
    if (hooks.pace && !isAwaited) hooks.pace.count(() => run(batch));
    else run(batch);
    isAwaited = false;
  }

  function commitThisTurn() {
    if (!isDue) setImmediate(flush);
    isDue = true;
  }

  /** Plans a commit when the pace allows, unless a commit is planned already. */
  function commitSoon() {
    if (isDue || timer) return;
    const delay = hooks.pace?.delayMs() ?? 0;
    if (delay === 0) commitThisTurn();
    else timer = setTimeout(flush, delay);
  }

  function add<T>(work: () => T, items = ONE, { soon = false, flushed = true } = {}): Promise<T> {
    if (soon) commitSoon();
    else {
      commitThisTurn();
      isAwaited = true;
    }
    return new Promise<T>((resolve, reject) => jobs.push({ work, items, resolve, reject, flushed }));
  }

  return {
    write: (work, items) => add(work, items),
    writeSoon: (work, items) => add(work, items, { soon: true }),
    writeUnflushed: (work, items) => add(work, items, { soon: true, flushed: false }),
    writeApart: (work, items = ONE) =>
      new Promise((resolve, reject) => {
        setImmediate(run, [{ work, items, resolve, reject, flushed: false }]);
      }),
  };
}
