import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { Clock } from "../../domain/clock.ts";
import { runInTimeLeft } from "../../domain/in-progress.ts";
import { silent, type Emit } from "../../domain/telemetry.ts";
import type { Query, QueryResult } from "../portable/query.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { connect, send } from "./connections.ts";
import { ConnectionLost, isConflict, isOutage } from "./errors.ts";
import { beginOf } from "./sessions.ts";
import { statements } from "./statements.ts";

export type Send = (query: Query) => Promise<QueryResult>;

export interface Database {
  /** Executes a statement that only reads. */
  read: Send;
  /**
   * Runs `work` in a transaction (READ COMMITTED). Resolves with its result once the transaction is committed. `work`
   * runs again if the transaction was rolled back because of a conflict or a lost connection.
   * @param options.idempotent true if it is harmless to run `work` again after it was committed; `work` is then also
   * repeated if the connection was lost during the commit
   * @param options.items how many requests share the transaction, for reports
   * @throws UnknownOutcome if the connection was lost during the commit. After any other error nothing was recorded.
   */
  transaction<T>(work: (send: Send) => Promise<T>, options?: { idempotent?: boolean; items?: number }): Promise<T>;
}

/** How long to keep repeating, in milliseconds. */
const PATIENCE_MS = 2_000;
const LONGEST_PAUSE_MS = 100;
/**
 * The time limit of an operation, and the part of it reserved for the commit, in milliseconds. Together
 * with the time that an item may wait for its batch, this is short enough for a response within ten seconds.
 */
const LONGEST_MS = 6_500;
const COMMIT_MS = 1_500;

/** What an operation does on a connection. It must end by `deadline`, as `performance.now()` counts. */
type Use<T> = (client: PoolClient, deadline: number) => Promise<T>;

/** @param clock the clock of a test, in place of the database's */
export function createDatabase(pool: Pool, clock: Clock | undefined, emit: Emit = silent): Database {
  const prepare = statements(clock);
  const unusable = new WeakSet<PoolClient>();

  const sending =
    (client: PoolClient, deadline: number): Send =>
    async (query) =>
      query.rows?.values.length === 0 ? { rows: [], count: 0 } : send(client, prepare(query), deadline);

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

  /** Repeats an operation that failed without effect, or that may be repeated, while there is time. */
  const operate = <T>(use: Use<T>, idempotent: boolean): Promise<T> =>
    runInTimeLeft(async (limit) => {
      const begun = performance.now();
      const deadline = Math.min(begun + LONGEST_MS, limit);
      const retryUntil = Math.min(begun + PATIENCE_MS, limit);
      let unknown: UnknownOutcome | undefined;
      for (let pause = 1; ; pause *= 2) {
        try {
          return await attempt(use, deadline);
        } catch (error) {
          if (error instanceof UnknownOutcome) unknown = error;
          const mayRepeat =
            error instanceof UnknownOutcome ? idempotent : error instanceof ConnectionLost || isConflict(error);
          if (!mayRepeat || performance.now() > retryUntil) throw unknown ?? error;
          await sleep(Math.min(pause, LONGEST_PAUSE_MS) * (0.5 + Math.random()));
        }
      }
    });

  return {
    read: (query) => operate((client, deadline) => sending(client, deadline)(query), true),
    transaction: (work, { idempotent = false, items = 1 } = {}) =>
      operate(async (client, deadline) => {
        const begunAt = performance.now();
        // The first statement is sent without waiting for the response to BEGIN, and fails if BEGIN does.
        const begun = send(client, { text: beginOf(client) }, deadline);
        begun.catch(() => undefined);
        let result;
        try {
          result = await work(sending(client, deadline - COMMIT_MS));
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
      }, idempotent),
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
