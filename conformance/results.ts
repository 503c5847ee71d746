/**
 * The one tree of results. Everything that reports (report.json, HTML, JUnit, badge, certificate, exit code)
 * renders a `Report` and nothing else. Amounts are whole numbers of the lowest denomination; times are ISO 8601, UTC.
 */

/** What one requirement, or one check of it, came to. */
export type Verdict = "pass" | "fail" | "warn" | "observed" | "not-applicable" | "could-not-run";

/** What the whole run came to. */
export type RunVerdict = "certified" | "passed-partially" | "failed" | "error";

/** `must` fails a run, `should` warns, `observe` records what the target does. */
export type Level = "must" | "should" | "observe";

/** `core`: what the interface document states. `extended`: our decisions as well. */
export type Profile = "core" | "extended";

/** What the worst case of a requirement's checks does to money. */
export type Effect = "none" | "must-be-rejected" | "moves-money";

/** What a run may do (`--effects`). */
export type EffectsAllowed = "none" | "reject" | "money";

/** One promise, as `spec/requirements.yaml` lists it: `section` of the interface document or `decision`, never both. */
export type Requirement = {
  id: string;
  section?: string;
  decision?: string;
  level: Level;
  profile: Profile;
  effect: Effect;
  text: string;
};

/** One request and its answer, redacted when it was recorded: no key, secret or signature, phone numbers by their last three digits. */
export type Exchange = {
  /** Unique in the run; the same exchange may stand under several checks. */
  id: number;
  at: string;
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  /** As text; left out when none was sent, shortened when long. */
  requestBody?: string;
  /** Left out, like everything below it, when no answer came. */
  status?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  /** Why no answer came. */
  failure?: string;
  durationMs: number;
  /** A command line that sends the request again; the key stands in it as `$API_KEY`. */
  curl: string;
};

export type CheckResult = {
  name: string;
  verdict: Verdict;
  expected: string;
  actual: string;
  exchanges: Exchange[];
  /** How many further exchanges the check had, left out to keep the report readable. */
  exchangesLeftOut?: number;
  durationMs: number;
};

/** Why a requirement was not judged. Only `target` (it cannot be made to do what is needed) allows a certificate. */
export type NotJudged = { code: "effects" | "only" | "pending" | "target" | "stopped"; text: string };

export type RequirementResult = Requirement & {
  verdict: Verdict;
  /** Stands with `not-applicable`, and with `could-not-run` when no check was started. */
  reason?: NotJudged;
  /** Stands when a failure is tolerated for now (`--baseline`); the verdict is then `warn`, those of the checks stay. */
  knownFailure?: { reason: string; expires: string };
  checks: CheckResult[];
};

/** Something that exists on the target because of the run. */
export type CreatedRecord = {
  kind: "disbursement" | "checkout";
  at: string;
  /** The service's reference; left out when the answer had none. */
  reference?: string;
  merchantsReference?: string;
  amount?: number;
  currency?: string;
  /** True for a request that ought to have been refused. */
  unintended?: true;
  /** True when no answer said so: it was lost, or a 5xx, and the record may or may not exist. */
  uncertain?: true;
};

/** Where Prism and the suite judge an answer differently (`--through-prism`). */
export type Disagreement = { exchange: Exchange; suite: string[]; prism: string[] };

/** What the target does where the interface leaves it open. `value` is JSON, equal in two runs when the behaviour is. */
export type Observation = { requirement: string; name: string; value: unknown };

export type Report = {
  verdict: RunVerdict;
  /** One sentence for the first screen: why the verdict is what it is. */
  summary: string;
  profile: Profile;
  effects: EffectsAllowed;
  baseUrl: string;
  /** SHA-256 of the bundled spec, hexadecimal. */
  specSha256: string;
  suiteVersion: string;
  startedAt: string;
  finishedAt: string;
  /** Requirements by verdict. */
  counts: Record<Verdict, number>;
  requirements: RequirementResult[];
  created: CreatedRecord[];
  observed: Observation[];
  /** Ids in the selection that have no check yet. */
  pending: string[];
  /** Used and allowed. */
  budget: { payouts: number; maxPayouts: number; total: number; maxTotal: number };
  /** Repeats the generated inputs of the run (`--seed`). */
  seed: number;
  /** Ids of `--only`; left out when everything was selected. */
  only?: string[];
  /** With `--through-prism`: how many answers Prism looked at, and where it disagrees with the suite. */
  secondOpinion?: { answers: number; disagreements: Disagreement[] };
  /** What kept the suite from doing its work; with verdict `error`. */
  errors: string[];
  /** What is wrong with the list of known failures (`--baseline`); any of it fails the run. */
  baselineProblems?: string[];
};

/** One verdict for several: the worst that was found. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  const order: Verdict[] = ["fail", "could-not-run", "warn", "pass", "observed", "not-applicable"];
  return order.find((verdict) => verdicts.includes(verdict)) ?? "not-applicable";
}

/** The exit code of a run: 1 something failed, 2 the suite could not do its work, 0 all that was selected passed. */
export function exitCodeOf(report: Report): 0 | 1 | 2 {
  if (report.counts.fail > 0 || report.baselineProblems?.length) return 1;
  return report.verdict === "certified" || report.verdict === "passed-partially" ? 0 : 2;
}
