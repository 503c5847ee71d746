// What a check is: data that says what it judges and what it may cost, and one function.
import type { RunOptions } from "./run-options.ts";
import type { Receiver } from "./target/receiver.ts";
import type { Effect } from "./results.ts";
import type { TargetResponse } from "./target/exchange.ts";
import type { Target } from "./target/target.ts";
import type { Validator } from "./contract/validate.ts";

/** What a target, or the caller, has to offer for a check; without it the check is not applicable. */
export type Need = "sandbox" | "second-key" | "receiver" | "webhook-secret" | "failing-recipient" | "safe-numbers";

export type Context = {
  target: Target;
  options: RunOptions;
  /** The validator of what the profile promises of a schema of the contract. */
  validator: (schema: string) => Validator;
  /** Collects webhooks; left out where none listens. */
  receiver?: Receiver;
  /**
   * Records a finding about a requirement and returns `ok`. A check goes on after a failed one.
   * @param evidence the answers it rests on; all of the check when left out
   */
  judge(id: string, ok: boolean, expected: string, actual: string, evidence?: readonly TargetResponse[]): boolean;
  /** Records what the target does where it is free. `value` has to be equal in two runs when the behaviour is. */
  observe(id: string, name: string, value: unknown): void;
  /** Says that the target cannot be made to do what the requirement needs, or that the effects do not allow it. */
  notApplicable(id: string, why: string, code?: "target" | "effects"): void;
  /** Says that the requirement could not be looked at this time, through no fault of the suite. */
  couldNotRun(id: string, why: string): void;
  /** A merchant's reference that nobody has used. */
  fresh(): string;
  now(): Date;
  sleep(ms: number): Promise<void>;
};

export type Check = {
  name: string;
  /** The requirements it judges. */
  ids: readonly string[];
  /** The worst it does to money. */
  effect: Effect;
  /** How many payouts a broken target may make of it; 0 when left out. */
  payouts?: number;
  /** What they may sum up to, in the lowest denomination. */
  amount?: number;
  needs?: readonly Need[];
  /** A sentence about what it changes on a sandbox for good, besides payouts, checkouts and the merchant's time. */
  leaves?: string;
  /** It sends nothing, and so has its say when the run was stopped as well. */
  offline?: true;
  run(context: Context): Promise<void>;
};

/** What a check needs did not come about, so that its requirements fail: a suite that did not look must not say pass. */
export class Prerequisite extends Error {
  readonly expected: string;
  readonly actual: string;
  constructor(expected: string, actual: string) {
    super(`${expected}; instead: ${actual}`);
    this.expected = expected;
    this.actual = actual;
  }
}

/** Looks at every answer of a run, whatever check it belongs to. */
export type Watch = {
  id: string;
  name: string;
  /** What every answer it applies to has to fulfil. */
  expected: string;
  applies(response: TargetResponse): boolean;
  /** What is wrong; nothing when the answer is sound. */
  faults(response: TargetResponse, validator: (schema: string) => Validator): string[];
  /** Says why no answer may have been met; without it a run that met none could not judge. */
  rare?: string;
};

/** An answer in a few words, for people. */
export function describeResponse(response: TargetResponse): string {
  if (response.status === undefined) return `no answer: ${response.exchange.failure ?? ""}`;
  const body = response.exchange.responseBody?.replaceAll(/\s+/g, " ").trim() ?? "";
  return `${response.status} ${body === "" ? "without a body" : body.length > 200 ? `${body.slice(0, 200)}…` : body}`;
}
