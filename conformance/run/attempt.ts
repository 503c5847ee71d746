// Defines one run of a check, which may be interrupted while payouts settle.
import type { Check, Context } from "../check.ts";
import type { NotJudged, Observation } from "../results.ts";
import type { Account, TargetResponse } from "../target/exchange.ts";
import type { Finding } from "./verdicts.ts";

export type Notes = {
  /** The responses that the check has received. */
  responses: TargetResponse[];
  findings: Finding[];
  observed: Observation[];
  notApplicable: Record<string, NotJudged>;
  notRun: Record<string, string>;
};

export type Attempt = {
  notes: Notes;
  /** The part of the check that has not run. */
  steps: AsyncGenerator<void, void>;
  isDone: boolean;
  thrown?: unknown;
  /** What it has sent, created and paid. */
  account: Account;
  durationMs: number;
};

/** Runs a check step by step. A check that does not wait has one step. */
export async function* stepsOf(check: Check, context: Context): AsyncGenerator<void, void> {
  const running = check.run(context);
  if ("then" in running) await running;
  else yield* running;
}
