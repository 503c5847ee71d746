import { currentChanges, type Change } from "../../domain/changes.ts";
import { UnknownOutcome } from "../storage-error.ts";
import { OPEN } from "./booking.ts";
import type { Executor, Query } from "./query.ts";

/**
 * Returns an executor that notes which transactions of a request or a command have recorded something
 * (`domain/changes.ts`). A transaction that changed no row has recorded nothing.
 */
export const noting = (executor: Executor): Executor => ({
  ...executor,
  write(work, options = {}) {
    if (options.isAside || !currentChanges()) return executor.write(work, options);
    let seen: Change | undefined;
    const watched = function* (): ReturnType<typeof work> {
      let hasChanged = false;
      const steps = work();
      let step = steps.next();
      while (!step.done) {
        const queries = step.value;
        const results = yield queries;
        hasChanged ||= results.some(({ count }, index) => count > 0 && isChange(queries[index]!));
        step = steps.next(results);
      }
      // A repeat may find what an earlier run has committed, and then changes nothing.
      const mayBeRepeat = options.idempotent === true && seen !== undefined;
      seen = hasChanged ? "certain" : mayBeRepeat ? "unknown" : undefined;
      return step.value;
    };
    return noted(executor.write(watched, options), () => seen);
  },
});

/** The statements of both databases begin with the same word. */
function isChange({ text }: Query): boolean {
  const sql = typeof text === "string" ? text : text.postgres;
  return /^\s*(INSERT|UPDATE|DELETE|WITH)\b/.test(sql) && sql !== OPEN;
}

/**
 * Notes what a transaction has recorded, and what it may have recorded if its outcome is unknown. A transaction that
 * several requests share is noted for each of them, with `seenIn` its result.
 */
export async function noted<T>(ended: Promise<T>, seenIn: (result?: T) => Change | undefined): Promise<T> {
  const changes = currentChanges();
  try {
    const result = await ended;
    const seen = seenIn(result);
    if (seen) changes?.push(seen);
    return result;
  } catch (error) {
    if (error instanceof UnknownOutcome && seenIn()) changes?.push("unknown");
    throw error;
  }
}
