// Defines a check: data that states what it judges and what it may cost, and one function that runs it.
import type { Limits } from "./allowances/limits.ts";
import type { Control, CheckOptions } from "./run-options.ts";
import type { Random } from "./generate/random.ts";
import type { Facts } from "./history/facts.ts";
import type { Person } from "./target/person.ts";
import type { Receiver } from "./target/receiver.ts";
import { effects, type Effect } from "./results.ts";
import { describeResponse, type TargetResponse } from "./target/exchange.ts";
import type { Target } from "./target/target.ts";
import type { Validator } from "./contract/validate.ts";
import type { RequirementId } from "../generated/requirement-ids.ts";
import { catalogue } from "./contract/requirements.ts";
import { usualAmount } from "./generate/plan.ts";

/**
 * Something that a check needs from the target or the caller. If a run does not provide it, the check is not
 * applicable. A `Control` is an operation of the sandbox; "forced-outcomes" are the phone numbers that force an
 * outcome (D17).
 */
export type Need =
  | Control
  | "finish-or-person"
  | "forced-outcomes"
  | "second-key"
  | "receiver"
  | "webhook-secret"
  | "failing-recipient"
  | "safe-numbers";

/** The responses on which a finding rests. */
export type Evidence = TargetResponse | readonly TargetResponse[];

/** One requirement, or several. */
export type Ids = RequirementId | readonly RequirementId[];

export type Context = {
  target: Target;
  options: CheckOptions;
  /** Returns what `change` makes of the first merchant's key, such as one of `alteredKeys`. */
  keyAs(change: (key: string) => string): string;
  /** The limits of the target that were declared or found so far. */
  limits: Limits;
  /** Returns the validator of a contract schema in the version of the run's profile. */
  validator: (schema: string) => Validator;
  /** What the target accepted and refused so far, whichever check sent the request. */
  facts: Facts;
  /** The receiver of webhooks; undefined if the run does not listen for webhooks. */
  receiver?: Receiver;
  /** The person who finishes checkouts by hand; undefined without `--interactive`. */
  person?: Person;
  /** The responses that the check has received so far: the evidence of a finding that no single response shows. */
  responses: readonly TargetResponse[];
  /**
   * Records a finding about each of these requirements and returns `ok`. The check continues even if `ok` is false.
   * @param found what the target did: a response, a text, or a list of faults, which is reported only if `ok` is false
   * @param evidence the responses that show the finding. The default is `found`, or else all responses of the check
   */
  judge(
    ids: Ids,
    ok: boolean,
    expected: string,
    found: TargetResponse | string | readonly string[],
    evidence?: Evidence,
  ): boolean;
  /** Records behaviour that the interface leaves open. Equal behaviour must give equal values. */
  observe(id: RequirementId, name: string, value: unknown): void;
  /** Records that requirements are not applicable. `code` names the reason, `provide` what the caller can add. */
  notApplicable(ids: Ids, why: string, code?: "target" | "effects" | "caller", provide?: string): void;
  /** Records that this run could not judge the requirements, for a reason outside the suite. */
  couldNotRun(ids: Ids, why: string): void;
  /** Records Dredd's judgement of a transaction. */
  noteDredd(transaction: string, ok: boolean): void;
  /** Returns an unused value for the merchant's reference. */
  fresh(): string;
  /** Returns pseudo-random numbers, which are the same for the same seed and check. */
  random: Random;
  now(): Date;
  sleep(ms: number): Promise<void>;
};

export type Check = {
  name: string;
  /** What the check tests, by requirement id, if that differs by requirement. */
  names?: Readonly<Record<string, string>>;
  /** The ids of the requirements that the check judges. */
  ids: readonly string[];
  /** The worst effect on money that the check's requests may have. */
  effect: Effect;
  /** The largest number of payouts that the check can cause on a faulty target, without checkouts. The default is 0. */
  payouts?: number;
  /** The largest possible sum of those payouts. A check that adapts to the budget returns the amount of each payout. */
  amount?: number | ((options: CheckOptions) => readonly number[]);
  needs?: readonly Need[];
  /**
   * One sentence that describes what the check changes permanently on a sandbox, other than payouts, checkouts and the
   * merchant's time.
   */
  leaves?: string;
  /**
   * `limits`: the check finds the limits of the target. It runs before all others, in every run that creates payouts
   * and whose budget covers it.
   * `opening`: the check runs right after the search for limits, because later checks need records that have aged.
   * `closing`: the check runs after all others, because it judges what they caused. Closing checks run in the order of
   * their list, all others in a random order that the run's seed determines.
   */
  phase?: "limits" | "opening" | "closing";
  /** Set if the check reads the payout in `--payout` and sends nothing but GET requests. It runs only with the option. */
  existing?: true;
  /** Set if another check at the same time would change what this check measures. */
  alone?: true;
  /** Set if the check spends seconds waiting and leaves the merchant's time and settings alone meanwhile. */
  idle?: true;
  /** Set if the check sends no requests. A check without requests is executed even after the run was stopped. */
  offline?: true;
  /**
   * Runs the check. If the check waits for payouts to settle, this function is a generator that yields once after it
   * has created the payouts. If the target's clock cannot be moved, a run starts all these checks first, so that their
   * payouts settle together.
   * @param id the first requirement that the check judges
   */
  run(context: Context, id: RequirementId): Promise<void> | AsyncGenerator<void, void>;
};

/** What a topic states of a check. The rest follows from its requirements and from what it pays. */
type Stated = Partial<
  Pick<Check, "name" | "needs" | "leaves" | "phase" | "existing" | "alone" | "idle" | "offline">
> & {
  /** See `Check.payouts`; checkouts do not count. */
  pays?: number;
  /** The largest amount of each payout, or a function that returns all amounts. The default is the usual amount. */
  upTo?: number | ((options: CheckOptions) => readonly number[]);
};

const requirements = new Map(catalogue.map((requirement) => [requirement.id, requirement]));

/** Returns the first sentence of a requirement, which is the name of a check without a name of its own. */
export const titleOf = (id: string) => requirements.get(id)!.text.split(/\.(?:\s|$)/)[0]!;

const leastEffectOf = (ids: readonly string[]): Effect =>
  effects.find((effect) => ids.some((id) => requirements.get(id)?.effect === effect)) ?? "none";

/**
 * Defines a check of one or more requirements. Its effect is the least of their effects, or `none` for a check of an
 * existing payout. A check needs a name only to tell it from another check whose first requirement is the same.
 */
export function judges(judged: Ids, { name, pays = 0, upTo = usualAmount, ...rest }: Stated, run: Check["run"]): Check {
  const ids = [judged].flat();
  return {
    ...rest,
    name: name ?? (rest.existing ? `Existing payout: ${titleOf(ids[0]!)}` : titleOf(ids[0]!)),
    ids,
    effect: rest.existing ? "none" : leastEffectOf(ids),
    payouts: pays,
    amount: typeof upTo === "number" ? pays * upTo : upTo,
    run,
  };
}

const asyncGenerator = Object.getPrototypeOf(async function* () {}) as object;

/** Returns true if the check waits for payouts to settle. */
export const waits = ({ run }: Check) => Object.getPrototypeOf(run) === asyncGenerator;

/** Returns the largest number of payouts that a check can cause in a run, and the largest possible sum of them. */
export function costOf({ payouts = 0, amount = 0 }: Pick<Check, "payouts" | "amount">, options: CheckOptions) {
  const sum = typeof amount === "number" ? amount : amount(options).reduce((total, each) => total + each, 0);
  return { payouts, amount: sum };
}

/**
 * Returns an error if a check paid more than it declares, because the plan and the budget rely on the declaration. A check
 * with effect `must-be-rejected` declares nothing: if a faulty target pays, the payout is charged to the budget.
 */
export function overspent(check: Check, paid: { payouts: number; total: number }, options: CheckOptions) {
  const { payouts, amount } = costOf(check, options);
  // Without a limit, the sum of all payouts may exceed 2^53 and is then rounded.
  const rounding = paid.total * Number.EPSILON * (paid.payouts + 1);
  if (check.effect !== "moves-money" || (paid.payouts <= payouts && paid.total <= amount + rounding)) return undefined;
  return new Error(
    `${check.name} made ${paid.payouts} payouts with a total of ${paid.total}, but declares ${payouts} with a total of ${amount}`,
  );
}

/**
 * Thrown by a check if the target did not provide a prerequisite of the check. The requirements that the check has not
 * judged then fail, because a requirement that was not tested must not pass.
 */
export class Prerequisite extends Error {
  readonly expected: string;
  readonly actual: string;
  /** The responses that show `actual`. */
  readonly evidence: readonly TargetResponse[];
  constructor(expected: string, actual: string, evidence: readonly TargetResponse[] = []) {
    super(`${expected}; instead: ${actual}`);
    this.expected = expected;
    this.actual = actual;
    this.evidence = evidence;
  }
}

/**
 * Thrown by a check if a payout did not settle in time, or if requests that must race did not race. The requirements that
 * the check has not judged get the verdict `could-not-run`. The message says what would help.
 */
export class CouldNotJudge extends Error {}

/** Throws `Prerequisite` unless the response provides what the check needs. */
export function given(ok: unknown, expected: string, response: TargetResponse): asserts ok {
  if (!ok) throw new Prerequisite(expected, describeResponse(response), [response]);
}

/** A rule for every response of a run, whichever check sent the request. */
export type Watch = {
  id: RequirementId;
  applies(response: TargetResponse): boolean;
  /** Returns the faults of a response; an empty array if it follows the rule. */
  faults(response: TargetResponse, validator: (schema: string) => Validator): string[];
  /**
   * The reason why a run may receive no response to which the rule applies. The requirement is then not applicable. If
   * there is no such reason, a run without such a response reports that the requirement could not be judged.
   */
  rare?: string;
};
