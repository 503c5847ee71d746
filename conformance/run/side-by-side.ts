// Decides which checks run at the same time. A target that responds slowly spends most of a run in transit, so checks that
// do not disturb each other share that time.
import { costOf, type Check, type Need } from "../check.ts";
import type { Exchange } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import type { Budget } from "../target/budget.ts";

/** If the median time of a response is at least this long, checks run side by side. */
export const slowMs = 80;
/** How many checks run at the same time. */
const lanes = 16;

/**
 * The needs that a check may have and still not disturb other checks. They do not change the merchant's time or
 * settings.
 */
const harmless = new Set<Need>(["receiver", "failing-recipient", "safe-numbers", "forced-outcomes", "finish"]);

/** Returns the median; 0 without values. */
export const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Returns true if the target took long for these requests, which were sent one after the other. */
export const isSlow = (exchanges: readonly Exchange[]) =>
  median(exchanges.map(({ durationMs }) => durationMs)) >= slowMs;

/** Returns true if the check and others of its kind may run at the same time. A person does one thing at a time. */
const mayShare = ({ phase, alone, needs = [] }: Check, { interactive }: RunOptions) =>
  phase === undefined &&
  !alone &&
  needs.every((need) => harmless.has(need) || (need === "finish-or-person" && !interactive));

const pays = ({ effect }: Check) => effect === "moves-money";

/**
 * Returns the next checks that may run side by side. If a target must refuse what a run sends (`--effects reject`), the
 * first accepted request ends the run, so that nothing else may be in transit. The extended profile judges time, lists
 * and settings of the merchant, which belong to one check at a time.
 */
export function sideBySide(next: readonly Check[], options: RunOptions, budget: Budget): readonly Check[] {
  const { profile, effects } = options;
  if (profile !== "core" || effects !== "money") return [];
  const end = next.findIndex((check) => check.phase !== undefined || pays(check) !== pays(next[0]!));
  const mayRun = next.slice(0, end < 0 ? next.length : end).filter((check) => mayShare(check, options));
  const costs = mayRun.map((check) => costOf(check, options));
  const payouts = costs.reduce((total, cost) => total + cost.payouts, 0);
  const amount = costs.reduce((total, cost) => total + cost.amount, 0);
  // Checks that the budget does not cover together would take it from each other.
  return mayRun.length > 1 && budget.allows(payouts, amount) ? mayRun : [];
}

/** Runs the checks, several at a time, and yields their results in their order. */
export async function* inLanes<T>(checks: readonly Check[], run: (check: Check) => Promise<T>) {
  const results = new Map(checks.map((check) => [check, Promise.withResolvers<T>()]));
  const waiting = [...checks];
  async function work() {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { promise, resolve } = results.get(next)!;
      resolve(run(next));
      // The caller may not have come to this result yet, or never come to it.
      await promise.catch(() => undefined);
    }
  }
  const workers = Array.from({ length: lanes }, work);
  try {
    for (const check of checks) yield { check, report: await results.get(check)!.promise };
  } finally {
    // The caller may end the run early.
    waiting.length = 0;
    await Promise.all(workers);
  }
}
