import { AsyncLocalStorage } from "node:async_hooks";

/** How long a request may still wait for the storage, over all its operations, in milliseconds. */
export interface TimeBudget {
  leftMs: number;
}

const budgets = new AsyncLocalStorage<TimeBudget>();

/** Runs `work`, whose operations share the budget. */
export const withBudget = <T>(budget: TimeBudget, work: () => T): T => budgets.run(budget, work);

/**
 * Runs an operation of the storage and takes its time from the caller's budget, if the caller has a budget.
 * @param operation gets the time by which it must have ended, as `performance.now()` counts
 */
export async function withinBudget<T>(operation: (deadline: number) => Promise<T>): Promise<T> {
  const budget = budgets.getStore();
  if (!budget) return operation(Infinity);
  const begun = performance.now();
  try {
    return await operation(begun + budget.leftMs);
  } finally {
    budget.leftMs -= performance.now() - begun;
  }
}

/** Settles as `work` does, or rejects with the signal's reason as soon as the signal is aborted. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    work.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}
