import { notedChanges, type Change } from "../../domain/changes.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { OPEN } from "./booking.ts";
import type { Executor, Query, Work } from "./query.ts";

/**
 * Returns an executor that notes which transactions of a request or a command have recorded something
 * (`domain/changes.ts`). A transaction that changed no row has recorded nothing.
 */
export function noting(executor: Executor): Executor {
  return {
    ...executor,
    write(work, options = {}) {
      const changes = notedChanges();
      if (!changes || options.isAside) return executor.write(work, options);
      let seen: Change | undefined;
      const watched = function* () {
        const { result, hasChanged } = yield* watch(work());
        // A repeat may find what an earlier run has committed, and then changes nothing.
        const mayBeRepeat = options.repeatable === true && seen !== undefined;
        seen = hasChanged ? "certain" : mayBeRepeat ? "unknown" : undefined;
        return result;
      };
      return noted(changes, executor.write(watched, options), () => seen);
    },
  };
}

/** Adds to `changes` what a transaction has recorded, and what it may have recorded if its outcome is unknown. */
async function noted<T>(changes: Change[], ended: Promise<T>, seenIn: (result?: T) => Change | undefined): Promise<T> {
  try {
    const result = await ended;
    const seen = seenIn(result);
    if (seen) changes.push(seen);
    return result;
  } catch (error) {
    if (error instanceof UnknownOutcome && seenIn()) changes.push("unknown");
    throw error;
  }
}

/** Executes work. Returns its result, and whether a statement has changed a row. */
function* watch<T>(work: Work<T>): Work<{ result: T; hasChanged: boolean }> {
  let hasChanged = false;
  let step = work.next();
  while (!step.done) {
    const queries = step.value;
    const results = yield queries;
    hasChanged ||= results.some(({ count }, index) => count > 0 && isChange(queries[index]!));
    step = work.next(results);
  }
  return { result: step.value, hasChanged };
}

/** The statements of both databases begin with the same word. */
function isChange({ text }: Query): boolean {
  const sql = typeof text === "string" ? text : text.postgres;
  return /^\s*(INSERT|UPDATE|DELETE|WITH)\b/.test(sql) && sql !== OPEN;
}

/** Notes the payments that a request has recorded: a transaction of several requests stores them. */
export const notingInsertion =
  <Asked, Result extends { inserted: boolean }>(insert: (asked: Asked) => Promise<Result>) =>
  (asked: Asked): Promise<Result> => {
    const changes = notedChanges();
    const ended = insert(asked);
    return changes ? noted(changes, ended, (result) => (result?.inserted === false ? undefined : "certain")) : ended;
  };
