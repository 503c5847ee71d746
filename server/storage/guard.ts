import type { Executor } from "./portable/query.ts";
import { overloaded } from "./storage-error.ts";

/** How many operations may be in progress, so that a slow database does not fill memory. Further ones are refused. */
const MOST_OPERATIONS = 10_000;

/**
 * Limits what is in progress in a database, and ends it.
 * @param explain returns the error that the caller gets instead of the given one
 * @param worked runs after an operation that succeeded
 */
export function createGuard(explain: (error: unknown) => unknown, worked?: () => void) {
  // This is a count, because a Set of all operations would keep ended operations in memory: V8 copies the Set often,
  // and the copies stay.
  let inProgress = 0;
  let isClosed = false;
  let becomesIdle: (() => void) | undefined;

  async function run<T>(operation: () => Promise<T>): Promise<T> {
    if (isClosed) throw new Error("The storage is closed.");
    if (inProgress >= MOST_OPERATIONS) throw overloaded();
    inProgress += 1;
    try {
      const result = await operation();
      worked?.();
      return result;
    } catch (error) {
      throw explain(error);
    } finally {
      inProgress -= 1;
      if (inProgress === 0) becomesIdle?.();
    }
  }

  return {
    run,
    /** Returns the executor with its operations guarded. */
    guarded: (executor: Executor): Executor => ({
      ...executor,
      read: (query) => run(() => executor.read(query)),
      write: (work, options) => run(() => executor.write(work, options)),
      together(work, options) {
        const add = executor.together(work, options);
        return (item) => run(() => add(item));
      },
      finder(select, columns) {
        const find = executor.finder(select, columns);
        return (given) => run(() => find(given));
      },
    }),
    /** Refuses further operations. Resolves with true when those in progress have ended, and with false if called again. */
    async close(): Promise<boolean> {
      if (isClosed) return false;
      isClosed = true;
      if (inProgress > 0) await new Promise<void>((resolve) => (becomesIdle = resolve));
      return true;
    },
  };
}
