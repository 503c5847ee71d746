// Turns the findings of one check into a result for each of its requirements.
import { BudgetExceeded } from "../target/budget.ts";
import { describeResponse, Prerequisite, type Check } from "../check.ts";
import { RunStopped } from "../target/ledger.ts";
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

/** What a check reports to the runner. */
export type CheckReport = {
  results: Record<string, CheckResult>;
  notApplicable: Record<string, NotJudged>;
  created: CreatedRecord[];
  observed: Observation[];
  payouts: number;
  total: number;
  /** Prism's judgement of the run's responses so far, not only of this check's. */
  secondOpinion?: { answers: number; disagreements: Disagreement[] };
  /** The error in the suite itself, if there was one. */
  error?: string;
  /** The reason why the run was stopped; undefined if it was not. */
  stopped?: string;
};

const checkRuns = "the check runs to its end";
const mostExchanges = 20;
const mostFindings = 5;

function evidence(exchanges: readonly Exchange[]) {
  const unique = [...new Map(exchanges.map((exchange) => [exchange.id, exchange])).values()];
  const leftOut = unique.length - mostExchanges;
  return { exchanges: unique.slice(0, mostExchanges), ...(leftOut > 0 ? { exchangesLeftOut: leftOut } : {}) };
}

const joined = (texts: readonly string[]) => {
  const unique = [...new Set(texts)];
  const more = unique.length - mostFindings;
  return unique.slice(0, mostFindings).join("; ") + (more > 0 ? `; and ${more} more` : "");
};

/**
 * Returns the exchange that shows the first failed finding: its only one, or the one whose response the finding
 * describes. Returns `{}` if there is none.
 */
function shownBy([first]: readonly Finding[], all: readonly Exchange[]): { shownBy?: number } {
  if (!first) return {};
  const exchanges = first.exchanges ?? all;
  const [shown] =
    exchanges.length === 1
      ? exchanges
      : exchanges.filter((exchange) => describeResponse({ status: exchange.status, exchange }) === first.actual);
  return shown ? { shownBy: shown.id } : {};
}

/** Returns the result of a check for a requirement about which it has findings. */
function checkResult(name: string, level: string, findings: readonly Finding[], all: readonly Exchange[], ms: number) {
  const failed = findings.filter((finding) => !finding.ok);
  const shown = failed.length > 0 ? failed : findings;
  const verdict: Verdict = failed.length === 0 ? "pass" : level === "should" ? "warn" : "fail";
  return {
    name,
    verdict,
    expected: joined(shown.map((finding) => finding.expected)),
    actual: joined(shown.map((finding) => finding.actual)),
    // The evidence of failures comes first, because the list is cut off after `mostExchanges`.
    ...evidence([...shown, ...findings].flatMap((finding) => finding.exchanges ?? all)),
    ...shownBy(failed, all),
    durationMs: ms,
  };
}

/** Returns the verdict for the requirements that a check had not judged when it threw. */
function verdictOfError(error: unknown): { verdict: Verdict; expected: string; actual: string; harness?: string } {
  if (error instanceof Prerequisite) return { verdict: "fail", expected: error.expected, actual: error.actual };
  const actual = error instanceof Error ? error.message : String(error);
  if (error instanceof RunStopped || error instanceof BudgetExceeded) {
    return { verdict: "could-not-run", expected: checkRuns, actual };
  }
  const harness = error instanceof Error ? (error.stack ?? actual) : actual;
  return {
    verdict: "could-not-run",
    expected: "the suite works",
    actual: `error in the suite: ${actual}`,
    harness,
  };
}

export type CheckRun = {
  check: Pick<Check, "name" | "names" | "ids">;
  selected: ReadonlyMap<string, Requirement>;
  findings: readonly Finding[];
  observed: readonly Observation[];
  notApplicable: Readonly<Record<string, NotJudged>>;
  /** The reasons why requirements could not be judged, by requirement id. */
  notRun: Readonly<Record<string, string>>;
  exchanges: readonly Exchange[];
  durationMs: number;
  /** What the check threw; undefined if it did not throw. */
  thrown?: unknown;
};

/**
 * Returns the result for each selected requirement of a check. A requirement that the check did not judge never passes.
 */
export function conclude(run: CheckRun): { results: Record<string, CheckResult>; error?: string } {
  const { check, exchanges, durationMs } = run;
  const results: Record<string, CheckResult> = {};
  const early = run.thrown === undefined ? undefined : verdictOfError(run.thrown);
  let fault = early?.harness;
  for (const id of check.ids) {
    const requirement = run.selected.get(id);
    if (!requirement || run.notApplicable[id]) continue;
    const name = check.names?.[id] ?? check.name;
    const findings = run.findings.filter((finding) => finding.id === id);
    const observed = run.observed.filter((observation) => observation.requirement === id);
    if (findings.length > 0) {
      results[id] = checkResult(name, requirement.level, findings, exchanges, durationMs);
    } else if (observed.length > 0) {
      const actual = observed.map((each) => `${each.name}: ${JSON.stringify(each.value)}`).join("; ");
      results[id] = {
        name,
        verdict: "observed",
        expected: "left open by the interface",
        actual,
        ...evidence(exchanges),
        durationMs,
      };
    } else if (run.notRun[id] !== undefined) {
      results[id] = {
        name,
        verdict: "could-not-run",
        expected: checkRuns,
        actual: run.notRun[id],
        exchanges: [],
        durationMs,
      };
    } else {
      const why = early ?? verdictOfError(new Error(`${check.name} ended without a finding about ${id}`));
      fault ??= why.harness;
      // A requirement of level `observe` cannot fail.
      const soft = requirement.level === "must" ? "fail" : requirement.level === "should" ? "warn" : "could-not-run";
      const verdict = why.verdict === "fail" ? soft : why.verdict;
      const { expected, actual } = why;
      // The request before a missing prerequisite shows it, so it comes first.
      const last = run.thrown instanceof Prerequisite ? exchanges.slice(-1) : [];
      results[id] = {
        name,
        verdict,
        expected,
        actual,
        ...evidence([...last, ...exchanges]),
        ...(last[0] ? { shownBy: last[0].id } : {}),
        durationMs,
      };
    }
  }
  return { results, ...(fault === undefined ? {} : { error: fault }) };
}
