// Decides which checks run at the same time. A run spends most of its time waiting for responses, so checks that do not
// disturb each other share that time.
import type { Check, Need } from "../check.ts";
import type { RunOptions } from "../run-options.ts";
import type { Budget } from "../target/ledger.ts";
import { worstCase } from "./plan.ts";

/** How many checks run at the same time. */
const lanes = 16;

/** The needs that do not change the merchant's time or settings. */
const harmless = new Set<Need>(["receiver", "failing-recipient", "safe-numbers", "forced-outcomes"]);

/**
 * Returns true if checks for which this is true may run at the same time. The extended profile judges time, lists and
 * settings of the merchant, which belong to one check at a time, unless the check only waits. A person does one thing at a
 * time.
 */
const mayShare = ({ phase, alone, idle, needs = [] }: Check, { profile, interactive }: RunOptions) =>
  profile === "core"
    ? phase === undefined &&
      !alone &&
      needs.every((need) => harmless.has(need) || (need === "finish-or-person" && !interactive))
    : idle === true;

/**
 * Returns the checks that run next: all that may run side by side, or only the first one. If a
 * target must refuse what a run sends (`--effects reject`), the first accepted request ends the run, so that nothing else
 * may be in transit.
 */
export function nextOf(left: readonly Check[], options: RunOptions, budget: Budget): readonly Check[] {
  const [first] = left;
  if (options.effects !== "money" || first?.phase !== undefined) return left.slice(0, 1);
  const sharing = left.filter((check) => mayShare(check, options));
  const { payouts, amount } = worstCase(sharing, options);
  // Checks that the budget does not cover together would take it from each other.
  return sharing.length > 0 && budget.allows(payouts, amount) ? sharing : left.slice(0, 1);
}

/** Runs the checks, several at a time, and yields their results in their order. */
export async function* inLanes<T>(checks: readonly Check[], run: (check: Check) => Promise<T>) {
  const results = new Map(checks.map((check) => [check, Promise.withResolvers<T>()]));
  const waiting = [...checks];
  async function work() {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { promise, resolve } = results.get(next)!;
      resolve(run(next));
      // The caller may await this result later or never, so handle its rejection here.
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
