// A check is data (what it judges, what it may cost) plus one function.
import type { RunOptions } from "./run-options.ts";
import type { Receiver } from "./target/receiver.ts";
import type { Effect } from "./results.ts";
import type { TargetResponse } from "./target/exchange.ts";
import type { Target } from "./target/target.ts";
import type { Validator } from "./contract/validate.ts";

/** What a check needs from the target or the caller. Without it the check is not applicable. */
export type Need = "sandbox" | "second-key" | "receiver" | "webhook-secret" | "failing-recipient" | "safe-numbers";

export type Context = {
  target: Target;
  options: RunOptions;
  /** Returns the validator of a contract schema, as far as the profile covers it. */
  validator: (schema: string) => Validator;
  /** Collects webhooks; undefined if the run does not listen for any. */
  receiver?: Receiver;
  /**
   * Records a finding about a requirement and returns `ok`. A failed finding does not end the check.
   * @param evidence the responses that show it; by default every response the check received
   */
  judge(id: string, ok: boolean, expected: string, actual: string, evidence?: readonly TargetResponse[]): boolean;
  /** Records what the target does where the interface leaves it open. Equal behaviour must give equal values. */
  observe(id: string, name: string, value: unknown): void;
  /** Records that the target cannot do what the requirement needs, or that `--effects` does not allow it. */
  notApplicable(id: string, why: string, code?: "target" | "effects"): void;
  /** Records that the requirement could not be judged in this run, for a reason outside the suite. */
  couldNotRun(id: string, why: string): void;
  /** Returns a new, unused merchant's reference. */
  fresh(): string;
  now(): Date;
  sleep(ms: number): Promise<void>;
};

export type Check = {
  name: string;
  /** Ids of the requirements it judges. */
  ids: readonly string[];
  /** Its worst case for money. */
  effect: Effect;
  /** How many payouts a faulty target may make because of it. Default 0. */
  payouts?: number;
  /** The largest possible sum of those payouts, in the lowest denomination. Default 0. */
  amount?: number;
  needs?: readonly Need[];
  /** One sentence on what it changes permanently on a sandbox besides payouts, checkouts and the merchant's time. */
  leaves?: string;
  /** It sends no requests, so it also runs after the run was stopped. */
  offline?: true;
  run(context: Context): Promise<void>;
};

/**
 * Thrown by a check when the target did not provide what the check builds on. Its requirements then fail: a requirement
 * that was not tested must not pass.
 */
export class Prerequisite extends Error {
  readonly expected: string;
  readonly actual: string;
  constructor(expected: string, actual: string) {
    super(`${expected}; instead: ${actual}`);
    this.expected = expected;
    this.actual = actual;
  }
}

/** Judges every response of a run, whichever check caused it. */
export type Watch = {
  id: string;
  name: string;
  /** What every response it applies to must satisfy. */
  expected: string;
  applies(response: TargetResponse): boolean;
  /** The faults of a response; empty for a valid one. */
  faults(response: TargetResponse, validator: (schema: string) => Validator): string[];
  /** Why a run may see no such response, which then is not applicable. Without it the watch could not run. */
  rare?: string;
};

/** Describes a response in a few words, for people. */
export function describeResponse(response: TargetResponse): string {
  if (response.status === undefined) return `no response: ${response.exchange.failure ?? ""}`;
  const body = response.exchange.responseBody?.replaceAll(/\s+/g, " ").trim() ?? "";
  return `${response.status} ${body === "" ? "with an empty body" : body.length > 200 ? `${body.slice(0, 200)}…` : body}`;
}
