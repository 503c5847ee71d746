import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { connect, send, type Result } from "./connections.ts";
import { ConnectionLost, isConflict, isOutage, UnknownOutcome } from "./errors.ts";
import { statements } from "./statements.ts";
import type { Time } from "./time.ts";

/** Runs a statement with the parameters `$1`, `$2`, …; `:now` is real time. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Result>;

export interface Queries {
  /** Runs a statement that only reads. */
  read: Query;
  /**
   * Runs `work` in a transaction (READ COMMITTED). Resolves with its result once the transaction is committed. `work`
   * runs again if the transaction was rolled back because of a conflict or a lost connection.
   * @param options.repeatable true if running `work` again after it was committed is harmless, so that it may also be
   *   repeated if the connection was lost during the commit
   * @throws UnknownOutcome if the connection was lost during the commit. After any other error nothing was recorded.
   */
  transaction<T>(work: (query: Query) => Promise<T>, options?: { repeatable?: boolean }): Promise<T>;
}

export interface Database extends Queries {
  /** Finishes the transactions in progress, then closes the connections. */
  close(): Promise<void>;
}

/**
 * How long to keep repeating, in milliseconds. A statement that has timed out has used up this time, so that a request
 * gets its response within ten seconds.
 */
const PATIENCE_MS = 2_000;
const LONGEST_PAUSE_MS = 100;

export function createDatabase(pool: Pool, time: Time): Database {
  const prepare = statements(time);
  const active = new Set<Promise<unknown>>();

  async function withClient<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await connect(pool);
    let isLost = false;
    try {
      return await use(client);
    } catch (error) {
      // A server that has become read-only stays so, but a new connection may reach its successor.
      isLost = isOutage(error) || error instanceof UnknownOutcome;
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  const attemptRead = (text: string, values: readonly unknown[]) =>
    withClient((client) => send(client, prepare(text, values)));

  const attemptTransaction = <T>(work: (query: Query) => Promise<T>) =>
    withClient(async (client) => {
      const query: Query = (text, values = []) => send(client, prepare(text, values));
      // The first statement is sent without waiting for the response to BEGIN, and fails if BEGIN does.
      const begun = send(client, { text: "BEGIN" });
      begun.catch(() => undefined);
      let result: T;
      try {
        result = await work(query);
        await begun;
      } catch (error) {
        if (!(error instanceof ConnectionLost)) await send(client, { text: "ROLLBACK" });
        throw error;
      }
      await commit(client);
      return result;
    });

  async function track<T>(operation: () => Promise<T>, repeatable: boolean): Promise<T> {
    const running = patiently(operation, repeatable);
    active.add(running);
    return running.finally(() => active.delete(running));
  }

  return {
    read: (text, values = []) => track(() => attemptRead(text, values), true),
    transaction: (work, { repeatable = false } = {}) => track(() => attemptTransaction(work), repeatable),
    async close() {
      await Promise.allSettled(active);
      await pool.end();
    },
  };
}

async function commit(client: PoolClient): Promise<void> {
  let command: string;
  try {
    ({ command } = await send(client, { text: "COMMIT" }));
  } catch (error) {
    if (error instanceof ConnectionLost) throw new UnknownOutcome(error.message, { cause: error });
    throw error;
  }
  // PostgreSQL rolls back instead if a statement of the transaction failed.
  if (command !== "COMMIT") throw new Error("The transaction was rolled back.");
}

/** Repeats an operation that failed without effect, or that may be repeated. */
async function patiently<T>(operation: () => Promise<T>, repeatable: boolean): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  let unknown: UnknownOutcome | undefined;
  for (let pause = 1; ; pause *= 2) {
    try {
      return await operation();
    } catch (error) {
      if (error instanceof UnknownOutcome) unknown = error;
      const mayRepeat =
        error instanceof UnknownOutcome ? repeatable : error instanceof ConnectionLost || isConflict(error);
      if (!mayRepeat || performance.now() > end) throw unknown ?? error;
      await sleep(Math.min(pause, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
    }
  }
}
