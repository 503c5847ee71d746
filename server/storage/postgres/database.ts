import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { silent, type Emit } from "../../domain/telemetry.ts";
import { withinBudget } from "../../domain/in-progress.ts";
import { connect, send, type Result } from "./connections.ts";
import { overloaded, UnknownOutcome } from "../storage-error.ts";
import { ConnectionLost, isConflict, isOutage } from "./errors.ts";
import { beginOf } from "./sessions.ts";
import { statements } from "./statements.ts";
import type { Clock } from "../../domain/clock.ts";

/** Runs a statement with the parameters `$1`, `$2`, …; `:now` is real time. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Result>;

export interface Queries {
  /** Runs a statement that only reads. */
  read: Query;
  /**
   * Runs `work` in a transaction (READ COMMITTED). Resolves with its result once the transaction is committed. `work`
   * runs again if the transaction was rolled back because of a conflict or a lost connection.
   * @param options.repeatable true if it is harmless to run `work` again after it was committed; `work` is then also
   * repeated if the connection was lost during the commit
   * @param options.items how many requests share the transaction, for reports
   * @throws UnknownOutcome if the connection was lost during the commit. After any other error nothing was recorded.
   */
  transaction<T>(work: (query: Query) => Promise<T>, options?: { repeatable?: boolean; items?: number }): Promise<T>;
}

export interface Database extends Queries {
  /** Refuses further operations, finishes those in progress, then closes the connections. */
  close(): Promise<void>;
}

/** How long to keep repeating, in milliseconds. */
const PATIENCE_MS = 2_000;
const LONGEST_PAUSE_MS = 100;
/** How many operations may be in progress, so that a slow database does not fill memory. Further ones are refused. */
const MOST_OPERATIONS = 5_000;
/**
 * The longest time of an operation, in milliseconds, and the least part of it for the commit of a transaction. Together
 * with the time that an item may wait in a batcher, this is short enough for a response within ten seconds.
 */
const LONGEST_MS = 6_500;
const COMMIT_MS = 1_500;

/** What an operation does on a connection. It must end by `deadline`, as `performance.now()` counts. */
type Use<T> = (client: PoolClient, deadline: number) => Promise<T>;

/** @param clock the clock of a test, in place of the database's */
export function createDatabase(pool: Pool, clock: Clock | undefined, emit: Emit = silent): Database {
  const prepare = statements(clock);
  // This is a count, because a Set of all operations would keep ended operations in memory: V8 copies the Set often,
  // and the copies stay.
  let active = 0;
  let isClosed = false;
  const unusable = new WeakSet<PoolClient>();
  let becomesIdle: (() => void) | undefined;

  async function attempt<T>(use: Use<T>, deadline: number): Promise<T> {
    const client = await connect(pool, deadline);
    let isLost = false;
    try {
      return await use(client, deadline);
    } catch (error) {
      // A server that has become read-only stays read-only, but a new connection may reach its successor.
      isLost = isOutage(error) || error instanceof UnknownOutcome || unusable.has(client);
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  async function operate<T>(use: Use<T>, repeatable: boolean): Promise<T> {
    if (isClosed) throw new Error("The storage is closed.");
    if (active >= MOST_OPERATIONS) throw overloaded();
    active += 1;
    try {
      return await withinBudget((limit) => patiently((deadline) => attempt(use, deadline), repeatable, limit));
    } finally {
      active -= 1;
      if (active === 0) becomesIdle?.();
    }
  }

  return {
    read: (text, values = []) => operate((client, deadline) => send(client, prepare(text, values), deadline), true),
    transaction: (work, { repeatable = false, items = 1 } = {}) =>
      operate(async (client, deadline) => {
        const begunAt = performance.now();
        const query: Query = (text, values = []) => send(client, prepare(text, values), deadline - COMMIT_MS);
        // The first statement is sent without waiting for the response to BEGIN, and fails if BEGIN does.
        const begun = send(client, { text: beginOf(client) }, deadline);
        begun.catch(() => undefined);
        let result;
        try {
          result = await work(query);
          await begun;
        } catch (error) {
          // The caller gets the error that ended the transaction, even if the connection is lost at the same time.
          if (!(error instanceof ConnectionLost))
            await send(client, { text: "ROLLBACK" }, deadline).catch(() => unusable.add(client));
          throw error;
        }
        await commit(client, deadline);
        emit("commit", { items, durationMs: performance.now() - begunAt });
        return result;
      }, repeatable),
    async close() {
      if (isClosed) return;
      isClosed = true;
      if (active > 0) await new Promise<void>((resolve) => (becomesIdle = resolve));
      await pool.end();
    },
  };
}

async function commit(client: PoolClient, deadline: number): Promise<void> {
  const { command } = await send(client, { text: "COMMIT" }, deadline).catch((error: unknown) => {
    // Without a cause nothing was sent, because the time was up.
    const isUnknown = error instanceof ConnectionLost && error.cause !== undefined;
    throw isUnknown ? new UnknownOutcome(error.message, { cause: error }) : error;
  });
  // PostgreSQL rolls back instead if a statement of the transaction failed.
  if (command !== "COMMIT") throw new Error("The transaction was rolled back.");
}

/** Repeats an operation that failed without effect, or that may be repeated, until the limit. */
async function patiently<T>(
  operation: (deadline: number) => Promise<T>,
  repeatable: boolean,
  limit: number,
): Promise<T> {
  const begun = performance.now();
  const deadline = Math.min(begun + LONGEST_MS, limit);
  const patience = Math.min(begun + PATIENCE_MS, limit);
  let unknown: UnknownOutcome | undefined;
  for (let pause = 1; ; pause *= 2) {
    try {
      return await operation(deadline);
    } catch (error) {
      if (error instanceof UnknownOutcome) unknown = error;
      const mayRepeat =
        error instanceof UnknownOutcome ? repeatable : error instanceof ConnectionLost || isConflict(error);
      if (!mayRepeat || performance.now() > patience) throw unknown ?? error;
      await sleep(Math.min(pause, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
    }
  }
}
