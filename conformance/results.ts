/**
 * The results of a run. report.json, report.html, junit.xml, certificate and exit code are derived from a
 * `Report` alone. Amounts are whole numbers in the lowest denomination. Times are ISO 8601 in UTC.
 */
import type { Declaration } from "./allowances/declaration.ts";

/** Thrown if the suite cannot do its work. The message says why and what to do. The exit code is then 2. */
export class CannotRun extends Error {}

/** The verdicts, the worst first. Reports list them in this order. */
export const verdictOrder = ["fail", "could-not-run", "warn", "pass", "observed", "not-applicable"] as const;
export type Verdict = (typeof verdictOrder)[number];

/** `no-contradiction` and `contradicted` are the verdicts on watched traffic, which never certifies anything. */
export type RunVerdict = "certified" | "passed-partially" | "failed" | "error" | "no-contradiction" | "contradicted";

/** A violated `must` fails the run. A violated `should` is a warning. `observe` only records what the target does. */
export const levels = ["must", "should", "observe"] as const;
export type Level = (typeof levels)[number];

/** `core` covers what the interface document states, `extended` also this project's decisions where it is silent. */
export type Profile = "core" | "extended";

/** A merchant's side: `client` is a program that pays, `receiver` a program that receives webhooks. */
export const sides = ["client", "receiver"] as const;
export type Side = (typeof sides)[number];

/** Everything that can be judged: a service by one of two profiles, or a merchant's side. */
export const profiles = ["core", "extended", ...sides] as const;

/** Returns true for the profile of a merchant's side. No run of such a profile can move money. */
export const isSide = (profile: Profile | Side): profile is Side => (sides as readonly string[]).includes(profile);

/** The worst effect on money that a request or a requirement's checks may have. */
export const effects = ["none", "must-be-rejected", "moves-money"] as const;
export type Effect = (typeof effects)[number];

export type EffectsAllowed = "none" | "reject" | "money";

/** An entry of `spec/requirements*.yaml`, based on a `section` of the interface document or on a `decision`. */
export type Requirement = {
  id: string;
  section?: string;
  decision?: string;
  level: Level;
  profile: Profile | Side;
  effect: Effect;
  text: string;
  /** A sentence that says what a violation costs the people who rely on the service. Every must has one. */
  matters?: string;
  /** How to repair a service or a program that violates it. Every requirement has one that is not of level `observe`. */
  fix?: string;
};

/**
 * One request and its response. Both are redacted before they are recorded: keys, secrets and signatures are removed,
 * and phone numbers of real people are masked, all but their last three digits.
 */
export type Exchange = {
  id: number;
  at: string;
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  /** The body as text, shortened if it is long; undefined if the request had no body. */
  requestBody?: string;
  /** Undefined if there was no response, like the other parts of the response. */
  status?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  failure?: string;
  durationMs: number;
  /**
   * A shell command that repeats the request. It reads keys from variables such as `${API_KEY}`. It lets the shell make
   * a new merchant's reference, unless an earlier request used this reference. If no command can contain the body, it
   * is a shell comment. Empty for watched traffic, which nobody should repeat.
   */
  curl: string;
};

export type CheckResult = {
  name: string;
  verdict: Verdict;
  expected: string;
  actual: string;
  exchanges: Exchange[];
  /** The id of the only exchange that shows the failure; undefined if several exchanges or a webhook show it. */
  shownBy?: number;
  /**
   * The id of the exchange that first contradicted the requirement. If only several exchanges together contradict it, the
   * id of the last of them. Undefined if the check did not fail, or if no exchange shows it.
   */
  contradictedBy?: number;
  /** The number of exchanges that were omitted to keep the report readable. */
  exchangesLeftOut?: number;
  durationMs: number;
  /** The options, as shell words, that let a run repeat this check alone. */
  selectFlags?: string[];
  /** Set if watched traffic shows the result, and not a request of the suite. */
  watched?: true;
};

/**
 * The reason why a requirement was not judged: `target` cannot do what the checks need, or the `caller` did not provide
 * it. A certificate is possible only if every such code is `target`. Of watched traffic: the requirement was `unseen`,
 * or is one that no traffic can show (`hidden`).
 */
export type NotJudged = {
  code: "effects" | "only" | "target" | "caller" | "stopped" | "unseen" | "hidden";
  text: string;
  /** With `caller`: what to add to the command line, a flag or a variable such as "API_KEY_2=KEY". */
  provide?: string;
};

/** Something that the caller did not provide, and the ids of the requirements that were not judged for lack of it. */
export type NotProvided = { what: string; provide?: string; requirements: string[] };

export type RequirementResult = Requirement & {
  verdict: Verdict;
  /** Set if the requirement was not judged, or not by all of its checks. */
  reason?: NotJudged;
  /** Set if the failure of the requirement is known and tolerated (`--baseline`). Its verdict is then `warn`. */
  knownFailure?: { reason: string; expires: string };
  /** In how many cases watched traffic agreed with the requirement, and contradicted it. Undefined if it showed none. */
  seen?: { held: number; contradicted: number };
  checks: CheckResult[];
};

/** The traffic that `certify watch` judged. */
export type Watched = {
  /** Where it came from, such as "https://pay.example" or "traffic.har". */
  source: string;
  /** The times of the first and the last exchange or webhook. */
  from: string;
  until: string;
  exchanges: number;
  webhooks: number;
  /** The number of merchants among the callers. */
  merchants: number;
  /** How much could not be judged, by reason, and how much had to be forgotten, by kind, because memory is limited. */
  missed: Record<string, number>;
  forgotten: Record<string, number>;
  /** What the caller declared: the time until every replica shows a change, and until a final status is notified. */
  declared: { visibleAfterMs: number; notifiedWithinMs?: number | undefined };
};

export type CreatedRecord = {
  kind: "disbursement" | "checkout";
  at: string;
  /** The service's reference; undefined if the response did not contain it. */
  reference?: string;
  merchantsReference?: string;
  amount?: number;
  currency?: string;
  /** Set if the target should have refused the request. */
  unintended?: true;
  /** Set if it is not known whether the record exists, because the response was lost or was a 5xx. */
  uncertain?: true;
};

/** A response about which Prism and the suite disagree (`--through-prism`), with the faults that each of them found. */
export type Disagreement = { exchange: Exchange; suite: string[]; prism: string[] };

/** Behaviour of the target that the interface leaves open. `value` is JSON. Equal behaviour gives equal values. */
export type Observation = { requirement: string; name: string; value: unknown };

/** Dredd's transactions: each sends the request that provokes one documented response, and compares the two. */
export type DreddJudgement = {
  transactions: number;
  /** The transactions whose response is not as documented, such as "POST /v1/disbursements → 409". */
  failed: string[];
};

/** Under which conditions a run judged the target. Some conditions are more lenient than others. */
export type Conditions = {
  /** The names of the headers that the caller added to every request (`--header`), in lower case. */
  headers: string[];
  /** The most requests per second (`--rate`); null without a limit. */
  rate: number | null;
  /** The longest waits, in milliseconds: for a response, for a payout to be final, and before the last checks. */
  waits: { responseMs: number; settleMs?: number; lingerMs?: number };
  /** The environment that `/healthz` reports, or null, and the sandbox operations that the target does not have. */
  sandbox: { environment: "sandbox" | "live" | null; missing: string[] };
  /** The number of large amounts that were not tried, because the budget did not cover them. */
  untriedAmounts: number;
  /** The types of events that a receiver gets (`--events`); null if it gets all, and for other targets. */
  events: string[] | null;
};

export type Report = {
  verdict: RunVerdict;
  summary: string;
  profile: Profile | Side;
  /** The effects that the run was allowed; `none` for a merchant's program. */
  effects: EffectsAllowed;
  /** The base URL of the judged service; for a merchant's program, its command or URL. */
  baseUrl: string;
  /** The SHA-256 hash of the bundled spec, in hexadecimal. */
  specSha256: string;
  suiteVersion: string;
  startedAt: string;
  finishedAt: string;
  counts: Record<Verdict, number>;
  requirements: RequirementResult[];
  created: CreatedRecord[];
  observed: Observation[];
  /** The limits of the target that the caller declared (`--declare`); undefined without the flag. */
  declared?: Declaration;
  /** How a declared limit differs from the target's limit. The run has then failed, and ended before its checks. */
  falseDeclaration?: string;
  /** Limits of the target that the run found. It refused other values cleanly. Undefined if the run found no limits. */
  foundLimits?: Declaration;
  /** What the caller did not provide. If a must needs it, the run passes at most partially. */
  notProvided: NotProvided[];
  /**
   * `payouts` and `total` are what the run used, `largestAmount` its largest payout. `maxPayouts` and `maxTotal` are the
   * limits. Without a limit, `maxTotal` is null.
   */
  budget: { payouts: number; maxPayouts: number; total: number; maxTotal: number | null; largestAmount: number };
  conditions: Conditions;
  seed: number;
  /** The text from which the seed and the references were derived (`--challenge`); undefined without the flag. */
  challenge?: string;
  /** Further options, as shell words, that a command needs to re-run checks of this run. */
  repeatFlags?: string[];
  /** The ids in `--only`; undefined if the option was not given. */
  only?: string[];
  /** What Dredd judged; undefined if no check of Dredd's ran. */
  dredd?: DreddJudgement;
  /** Set with `--through-prism`: the number of responses that Prism validated, and its disagreements with the suite. */
  secondOpinion?: { answers: number; disagreements: Disagreement[] };
  /**
   * The SHA-256 hash, in hexadecimal, of the file with the recorded exchanges, from which `certify rejudge` computes this
   * report again. Undefined for a merchant's program, and if a key is too common a text to be redacted.
   */
  exchangesSha256?: string;
  /** What is out of date in the list of known failures (`--baseline`). The run has then failed. */
  baselineProblems?: string[];
  /** Set if the report is about watched traffic. It then has no budget, seed or observations. */
  watched?: Watched;
  /** The watched traffic that is reported together with a run (`--watched`). */
  alsoWatched?: Watched;
  errors: string[];
};

/** Returns true for the result of a check that a reader has to act on. */
export const isTroubled = ({ verdict }: Pick<CheckResult, "verdict">) =>
  verdict === "fail" || verdict === "warn" || verdict === "could-not-run";

/** Counts the requirements with each verdict. */
export function countsOf(requirements: readonly Pick<RequirementResult, "verdict">[]): Report["counts"] {
  const counts = { pass: 0, fail: 0, warn: 0, observed: 0, "not-applicable": 0, "could-not-run": 0 };
  for (const { verdict } of requirements) counts[verdict] += 1;
  return counts;
}

/** Returns the worst of several verdicts. */
export const worstOf = (verdicts: readonly Verdict[]): Verdict =>
  verdictOrder.find((verdict) => verdicts.includes(verdict)) ?? "not-applicable";

/** Returns 0 if everything selected passed, 1 if something failed, and 2 if the suite could not do its work. */
export function exitCodeOf(report: Report): 0 | 1 | 2 {
  if (report.counts.fail > 0 || report.falseDeclaration !== undefined || report.baselineProblems) return 1;
  return report.verdict === "error" ? 2 : 0;
}
