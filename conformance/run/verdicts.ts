// Turns the findings of one check into a result for each of its requirements.
import type { Declaration } from "../allowances/declaration.ts";
import { CouldNotJudge, Prerequisite, type Check } from "../check.ts";
import { joinedFirst } from "../report/words.ts";
import { describeResponse } from "../target/exchange.ts";
import { BudgetExceeded, RunStopped } from "../target/ledger.ts";
import type {
  CheckResult,
  CreatedRecord,
  Disagreement,
  Exchange,
  NotJudged,
  Observation,
  Requirement,
  Verdict,
} from "../results.ts";

export type Finding = { id: string; ok: boolean; expected: string; actual: string; exchanges?: Exchange[] };

export type Notes = {
  findings: Finding[];
  observed: Observation[];
  notApplicable: Record<string, NotJudged>;
  /** The reasons why requirements could not be judged, by requirement id. */
  notRun: Record<string, string>;
};

/** What a check reports to the runner. */
export type CheckReport = {
  results: Record<string, CheckResult>;
  notApplicable: Record<string, NotJudged>;
  created: CreatedRecord[];
  observed: Observation[];
  payouts: number;
  total: number;
  /** The limits of the target that the run found so far. */
  found: Declaration;
  /** Why a declared limit is false. If this is set, the run has failed. */
  falseDeclaration?: string;
  /** Dredd's judgements in the run so far, by transaction. */
  dredd?: Record<string, boolean>;
  /** Prism's judgement of the run's responses so far, not only of this check's. */
  secondOpinion?: { answers: number; disagreements: Disagreement[] };
  /** The error in the suite itself, if an error occurred. */
  error?: string;
  /** The reason why the run was stopped; undefined if it was not. */
  stopped?: string;
};

const expectedRun = "the check runs to its end";
const mostExchanges = 20;
const mostFindings = 5;

function evidence(exchanges: readonly Exchange[]) {
  const unique = [...new Map(exchanges.map((exchange) => [exchange.id, exchange])).values()];
  const leftOut = unique.length - mostExchanges;
  return { exchanges: unique.slice(0, mostExchanges), exchangesLeftOut: leftOut > 0 ? leftOut : undefined };
}

const joined = (texts: readonly string[]) => joinedFirst([...new Set(texts)], mostFindings);

/** Returns the exchange that shows a finding: its only one, or the one whose response it quotes. */
function shownBy({ exchanges, actual }: Finding, all: readonly Exchange[]): Exchange | undefined {
  const shown = exchanges ?? all;
  if (shown.length === 1) return shown[0];
  return shown.find((exchange) => describeResponse({ status: exchange.status, exchange }) === actual);
}

/** Returns the last exchange of a finding's evidence; undefined if the finding has no evidence. */
const lastExchange = ({ exchanges = [] }: Finding): Exchange | undefined =>
  exchanges.toSorted((a, b) => a.id - b.id).at(-1);

const placeOf = (finding: Finding) => lastExchange(finding)?.id ?? Infinity;

type Result = Omit<CheckResult, "name" | "durationMs">;

function judged({ level }: Requirement, findings: readonly Finding[], all: readonly Exchange[]): Result {
  const failed = findings.filter((finding) => !finding.ok).toSorted((a, b) => placeOf(a) - placeOf(b));
  const shown = failed.length > 0 ? failed : findings;
  const [first] = failed;
  return {
    verdict: failed.length === 0 ? "pass" : level === "should" ? "warn" : "fail",
    expected: joined(shown.map((finding) => finding.expected)),
    actual: joined(shown.map((finding) => finding.actual)),
    // The evidence of failures comes first, because the list is cut off after `mostExchanges`.
    ...evidence([...shown, ...findings].flatMap((finding) => finding.exchanges ?? all)),
    shownBy: first && shownBy(first, all)?.id,
    contradictedBy: first && lastExchange(first)?.id,
  };
}

/** The result of a check that threw. `harness` describes an error in the suite. */
type Early = { verdict: Verdict; expected: string; actual: string; harness?: string };

/** Returns the verdict for the requirements that a check had not judged when it threw. */
function verdictOfError(error: unknown): Early {
  if (error instanceof Prerequisite) return { verdict: "fail", expected: error.expected, actual: error.actual };
  const verdict = "could-not-run";
  const actual = error instanceof Error ? error.message : String(error);
  if ([RunStopped, BudgetExceeded, CouldNotJudge].some((known) => error instanceof known))
    return { verdict, expected: expectedRun, actual };
  const harness = error instanceof Error ? (error.stack ?? actual) : actual;
  return { verdict, expected: "the suite works", actual: `error in the suite: ${actual}`, harness };
}

export type CheckRun = { readonly [Name in keyof Notes]: Readonly<Notes[Name]> } & {
  check: Pick<Check, "name" | "names" | "ids">;
  selected: ReadonlyMap<string, Requirement>;
  exchanges: readonly Exchange[];
  durationMs: number;
  thrown?: unknown;
};

/** Returns the result for a requirement that the check could not judge to the end. */
function unfinished({ level }: Requirement, { thrown, exchanges }: CheckRun, why: Early): Result {
  // A requirement of level `observe` cannot fail.
  const soft = level === "must" ? "fail" : level === "should" ? "warn" : "could-not-run";
  const { expected, actual } = why;
  // The last request shows the missing prerequisite, so it comes first.
  const last = thrown instanceof Prerequisite ? exchanges.at(-1) : undefined;
  return {
    verdict: why.verdict === "fail" ? soft : why.verdict,
    expected,
    actual,
    ...evidence([...(last ? [last] : []), ...exchanges]),
    shownBy: last?.id,
    contradictedBy: last?.id,
  };
}

/**
 * Returns why the good findings of a requirement do not suffice: the check ended early, and may have had more to judge.
 * If a prerequisite is missing, that is reported for the requirements without a finding, if there are any.
 */
function whyIncomplete(run: CheckRun, early: Early | undefined): Early | undefined {
  if (early?.verdict !== "fail") return early;
  const ids = run.check.ids.filter((id) => run.selected.has(id) && !run.notApplicable[id]);
  const known = new Set([...run.findings.map(({ id }) => id), ...run.observed.map(({ requirement }) => requirement)]);
  return ids.length > 1 && ids.some((id) => !known.has(id)) ? undefined : early;
}

/** A requirement that the check did not judge, or not to the end, never passes. */
export function conclude(run: CheckRun): { results: Record<string, CheckResult>; error?: string } {
  const { check, exchanges, durationMs } = run;
  const early = run.thrown === undefined ? undefined : verdictOfError(run.thrown);
  const incomplete = whyIncomplete(run, early);
  let fault = early?.harness;

  function resultOf(requirement: Requirement): Result | undefined {
    const { id } = requirement;
    const findings = run.findings.filter((finding) => finding.id === id);
    const observed = run.observed.filter((observation) => observation.requirement === id);
    const notRun = run.notRun[id];
    // A failure stays, whatever the check says afterwards.
    if (findings.some(({ ok }) => !ok)) return judged(requirement, findings, exchanges);
    if (run.notApplicable[id]) return undefined;
    if (notRun !== undefined) return { verdict: "could-not-run", expected: expectedRun, actual: notRun, exchanges: [] };
    if (findings.length > 0 && incomplete === undefined) return judged(requirement, findings, exchanges);
    if (observed.length > 0) {
      const actual = observed.map(({ name, value }) => `${name}: ${JSON.stringify(value)}`).join("; ");
      return { verdict: "observed", expected: "left open by the interface", actual, ...evidence(exchanges) };
    }
    const why = early ?? verdictOfError(new Error(`${check.name} ended without a finding about ${id}`));
    fault ??= why.harness;
    return unfinished(requirement, run, why);
  }

  const results = check.ids.flatMap((id): [string, CheckResult][] => {
    const requirement = run.selected.get(id);
    const result = requirement && resultOf(requirement);
    return result ? [[id, { name: check.names?.[id] ?? check.name, ...result, durationMs }]] : [];
  });
  return { results: Object.fromEntries(results), error: fault };
}
