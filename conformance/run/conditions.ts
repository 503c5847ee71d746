// States under which conditions a run judged the target. A certificate repeats the conditions, because some conditions
// are more lenient than others.
import { reachOf } from "../topics/create/checks.ts";
import type { Conditions } from "../results.ts";
import { allControls, hasControl, type RunOptions } from "../run-options.ts";
import { controls } from "./needs.ts";

export function conditionsOf(options: RunOptions): Conditions {
  return {
    headers: Object.keys(options.headers)
      .map((name) => name.toLowerCase())
      .toSorted(),
    rate: options.rate ?? null,
    waits: { responseMs: options.timeoutMs, settleMs: options.settleTimeoutMs, lingerMs: options.linger * 1000 },
    sandbox: {
      environment: options.environment ?? null,
      missing: allControls.filter((control) => !hasControl(options, control)).map((control) => controls[control]),
    },
    untriedAmounts: reachOf(options).untried,
    events: null,
  };
}

/** Returns the conditions of a run that judges a merchant's side, whose service is the suite itself. */
export const sideConditions = (waits: Conditions["waits"], events?: readonly string[]): Conditions => ({
  headers: [],
  rate: null,
  waits,
  sandbox: { environment: null, missing: [] },
  untriedAmounts: 0,
  events: events ? [...events] : null,
});
