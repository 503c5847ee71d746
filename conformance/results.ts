/**
 * The results of a run. report.json, HTML, JUnit, badge, certificate and exit code are all derived from a `Report` and
 * nothing else. Amounts are whole numbers of the lowest denomination; times are ISO 8601 in UTC.
 */

/** The verdict on one requirement, or on one check of it. */
export type Verdict = "pass" | "fail" | "warn" | "observed" | "not-applicable" | "could-not-run";

/** The verdict on the whole run. */
export type RunVerdict = "certified" | "passed-partially" | "failed" | "error";

/** `must` fails a run, `should` warns, `observe` records what the target does. */
export type Level = "must" | "should" | "observe";

/** `core`: what the interface document states. `extended`: also what this project decided where it is silent. */
export type Profile = "core" | "extended";

/** The worst case for money of a requirement's checks. */
export type Effect = "none" | "must-be-rejected" | "moves-money";

/** What a run may do (`--effects`). */
export type EffectsAllowed = "none" | "reject" | "money";

/** One entry of `spec/requirements.yaml`, based on either a `section` of the interface document or a `decision`. */
export type Requirement = {
  id: string;
  section?: string;
  decision?: string;
  level: Level;
  profile: Profile;
  effect: Effect;
  text: string;
};

/**
 * One request and its response. It is redacted when recorded: keys, secrets and signatures are removed, and phone
 * numbers keep their last three digits.
 */
export type Exchange = {
  /** Unique in the run. Several checks may list the same exchange. */
  id: number;
  at: string;
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  /** As text, shortened if long; undefined if none was sent. */
  requestBody?: string;
  /** Undefined, like the response's headers and body, if no response was received. */
  status?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  /** Why no response was received. */
  failure?: string;
  durationMs: number;
  /** A command that repeats the request; it reads the key from `$API_KEY`. */
  curl: string;
};

export type CheckResult = {
  name: string;
  verdict: Verdict;
  expected: string;
  actual: string;
  exchanges: Exchange[];
  /** How many further exchanges were omitted to keep the report readable. */
  exchangesLeftOut?: number;
  durationMs: number;
};

/** Why a requirement was not judged. Only `target` (the target cannot do what is needed) still allows a certificate. */
export type NotJudged = { code: "effects" | "only" | "pending" | "target" | "stopped"; text: string };

export type RequirementResult = Requirement & {
  verdict: Verdict;
  /** Set for `not-applicable`, for `could-not-run` if no check was started, and if only a part was judged. */
  reason?: NotJudged;
  /** Set if the failure is tolerated for now (`--baseline`). The verdict is then `warn`; its checks keep theirs. */
  knownFailure?: { reason: string; expires: string };
  checks: CheckResult[];
};

/** A record that exists on the target because of the run. */
export type CreatedRecord = {
  kind: "disbursement" | "checkout";
  at: string;
  /** The service's reference; undefined if the response contained none. */
  reference?: string;
  merchantsReference?: string;
  amount?: number;
  currency?: string;
  /** True if the request should have been refused. */
  unintended?: true;
  /** True if the response was lost or a 5xx, so that the record may or may not exist. */
  uncertain?: true;
};

/** A response about which Prism and the suite disagree (`--through-prism`), with the faults each found. */
export type Disagreement = { exchange: Exchange; suite: string[]; prism: string[] };

/** What the target does where the interface leaves it open. `value` is JSON; equal behaviour gives equal values. */
export type Observation = { requirement: string; name: string; value: unknown };

export type Report = {
  verdict: RunVerdict;
  /** One sentence that explains the verdict. */
  summary: string;
  profile: Profile;
  effects: EffectsAllowed;
  baseUrl: string;
  /** SHA-256 of the bundled spec, hexadecimal. */
  specSha256: string;
  suiteVersion: string;
  startedAt: string;
  finishedAt: string;
  /** How many requirements have each verdict. */
  counts: Record<Verdict, number>;
  requirements: RequirementResult[];
  created: CreatedRecord[];
  observed: Observation[];
  /** Ids of selected requirements that have no check yet. */
  pending: string[];
  /** What was used and what was allowed. */
  budget: { payouts: number; maxPayouts: number; total: number; maxTotal: number };
  /** Reproduces the generated inputs of the run (`--seed`). */
  seed: number;
  /** The ids in `--only`; undefined if it was not given. */
  only?: string[];
  /** With `--through-prism`: how many responses Prism validated, and where it disagrees with the suite. */
  secondOpinion?: { answers: number; disagreements: Disagreement[] };
  /** What prevented the suite from doing its work. */
  errors: string[];
  /** Problems with the list of known failures (`--baseline`). Any problem fails the run. */
  baselineProblems?: string[];
};

/** The worst of several verdicts. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  const order: Verdict[] = ["fail", "could-not-run", "warn", "pass", "observed", "not-applicable"];
  return order.find((verdict) => verdicts.includes(verdict)) ?? "not-applicable";
}

/** The exit code of a run: 0 everything selected passed, 1 something failed, 2 the suite could not do its work. */
export function exitCodeOf(report: Report): 0 | 1 | 2 {
  if (report.counts.fail > 0 || report.baselineProblems?.length) return 1;
  return report.verdict === "certified" || report.verdict === "passed-partially" ? 0 : 2;
}
