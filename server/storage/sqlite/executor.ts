import type { DatabaseSync } from "node:sqlite";
import type { Executor, Query, QueryResult, Work, WriteOptions } from "../portable/query.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { rollBack } from "./database.ts";
import { troubleOf, type Health } from "./health.ts";
import { runNow } from "./statements.ts";

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

/** After so many commits, the log is copied into the file. A page changes many times, and each copy writes it once. */
const COMMITS_PER_CHECKPOINT = 32;

/** How the commits of `WriteOptions` differ: whether no request waits for the work, and whether it is flushed to disk. */
const COMMITS = {
  write: { isSoon: false, flushed: true },
  writeSoon: { isSoon: true, flushed: true },
  writeUnflushed: { isSoon: true, flushed: false },
};
type Commit = keyof typeof COMMITS;

interface Waiting {
  item: unknown;
  resolve(result: any): void;
  reject(error: unknown): void;
}

/** Items that one call of `work` processes. */
interface Job {
  work: (items: any[]) => Work<unknown[]>;
  waiting: Waiting[];
  commit: Commit;
  /** False once the transaction has begun. */
  isOpen: boolean;
}

function* alone([work]: (() => Work<unknown>)[]): Work<unknown[]> {
  return [yield* work!()];
}

/** Splits work that failed together: into its jobs, and a job into its items. */
function apart(batch: readonly Job[]): Job[] {
  if (batch.length > 1) return [...batch];
  const [job] = batch;
  return job!.waiting.length > 1 ? job!.waiting.map((each) => ({ ...job!, waiting: [each] })) : [];
}

/**
 * Executes portable work with group commit (D28): the work of one turn of the event loop shares one transaction, so that
 * many creates cost one flush to disk. If a part of it throws, the transaction is rolled back, and each is repeated alone.
 */
export function sqliteExecutor(
  db: DatabaseSync,
  execute: (query: Query) => QueryResult,
  health: Health,
  shared: Pick<Executor, "sealing" | "emit">,
): Executor {
  const pace = createPace();
  let jobs: Job[] = [];
  /** True if the jobs' commit is due without further delay. */
  let isDue = false;
  /** The timer that will commit jobs that no request waits for, when the pace allows. */
  let timer: NodeJS.Timeout | undefined;
  /** True while commits are flushed to disk, as `openDatabase` sets it. */
  let flushing = true;
  let commits = 0;
  db.exec("PRAGMA wal_autocheckpoint = 0");

  function setFlushing(wanted: boolean) {
    if (flushing === wanted) return;
    db.exec(`PRAGMA synchronous = ${wanted ? "FULL" : "NORMAL"}`);
    flushing = wanted;
  }

  /** Runs after the responses to a commit. SQLite's own checkpoints do not report that a flush has failed. */
  function checkpoint() {
    try {
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      const isClosed = (error as NodeJS.ErrnoException).code === "ERR_INVALID_STATE";
      if (!isClosed) health.checkpointFailed(error);
    }
  }

  function run(batch: readonly Job[]): void {
    const begun = performance.now();
    const reject = (error: unknown) => {
      for (const { waiting } of batch) for (const each of waiting) each.reject(error);
    };
    for (const job of batch) job.isOpen = false;
    try {
      health.require();
      setFlushing(batch.some(({ commit }) => COMMITS[commit].flushed));
      db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      return reject(error);
    }
    let results: unknown[][];
    try {
      results = batch.map(({ work, waiting }) => runNow(execute, work(waiting.map(({ item }) => item))));
      db.exec("COMMIT");
    } catch (error) {
      rollBack(db);
      health.explain(error);
      // After a flush has failed it is unknown what is stored, and a repetition might seem to succeed.
      if (troubleOf(error) === "unflushed")
        return reject(new UnknownOutcome((error as Error).message, { cause: error }));
      const parts = apart(batch);
      if (parts.length === 0) return reject(error);
      for (const part of parts) run([part]);
      return;
    }
    for (const [place, { waiting }] of batch.entries())
      for (const [index, { resolve }] of waiting.entries()) resolve(results[place]![index]);
    commits += 1;
    if (commits % COMMITS_PER_CHECKPOINT === 0) setImmediate(checkpoint);
    const items = batch.reduce((sum, { waiting }) => sum + waiting.length, 0);
    shared.emit("commit", { items, durationMs: performance.now() - begun });
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
    if (batch.every(({ commit }) => COMMITS[commit].isSoon)) pace(performance.now() - begun);
  }

  function add(work: Job["work"], commit: Commit): Job {
    const job = { work, waiting: [], commit, isOpen: true };
    const { isSoon } = COMMITS[commit];
    if (!isDue && !(isSoon && timer)) {
      const delay = isSoon ? pace() : 0;
      if (delay > 0) timer = setTimeout(flush, delay);
      else {
        isDue = true;
        setImmediate(flush);
      }
    }
    jobs.push(job);
    return job;
  }

  return {
    ...shared,
    database: "sqlite",
    read: async (query) => execute(query).rows,
    write: (work, { commit = "write" } = {}) =>
      new Promise((resolve, reject) => {
        add(alone, commit).waiting.push({ item: work, resolve, reject });
      }),
    together(work, { commit = "write" }: WriteOptions = {}) {
      let job: Job | undefined;
      return (item) =>
        new Promise((resolve, reject) => {
          if (!job?.isOpen) job = add(work, commit);
          job.waiting.push({ item, resolve, reject });
        });
    },
    finder: (text, columns) => async (row) => execute({ text, rows: { columns, values: [row] } }).rows[0],
  };
}
