// Runs scenarios against a merchant's program, and builds the report of the run. The suite itself plays the service in such
// a run, so no money moves. Everything that reads a report of a service reads this report too.
import { requirementsOf } from "../contract/requirements.ts";
import { counted } from "../report/words.ts";
import {
  CannotRun,
  type CheckResult,
  type Conditions,
  type Exchange,
  type Report,
  type RequirementResult,
  type Side,
} from "../results.ts";
import { createProgress, type Output } from "../run/progress.ts";
import { selectedRequirements } from "../run/selection.ts";
import { buildReport, sideConditions } from "../run/tree.ts";
import { conclude, type CheckReport, type Notes } from "../run/verdicts.ts";

/** What every scenario has. */
export type Described = {
  /** The name for `--scenario`. */
  id: string;
  /** What the scenario does, as reports name it. */
  name: string;
  /** The ids of the requirements that the scenario judges. */
  ids: readonly string[];
};

/**
 * What a run found in one scenario: at least one finding for each id, unless `notApplicable`, `notRun` or `thrown` gives a
 * reason.
 */
export type ScenarioRun = Pick<Notes, "findings"> & {
  notApplicable?: Notes["notApplicable"];
  notRun?: Notes["notRun"];
  /** What the merchant's program sent or received, redacted. */
  exchanges?: readonly Exchange[];
  /**
   * A `Prerequisite` if the program did not do what the scenario builds on; any other error is a fault of the suite.
   */
  thrown?: unknown;
};

/** What a run judges, and how. */
export type Judging<Scenario extends Described> = {
  side: Side;
  /** The judged program, as the report names it. */
  target: string;
  scenarios: readonly Scenario[];
  /** How many scenarios run at the same time. */
  jobs: number;
  /** The ids of the requirements to judge, and of the scenarios to run; undefined for all. */
  options: {
    only?: string[] | undefined;
    scenarios?: string[] | undefined;
    /** Ends the run at the first scenario that fails. */
    failFast?: boolean | undefined;
    seed: number;
    challenge?: string | undefined;
  };
  waits: Conditions["waits"];
  /** The types of events that a receiver gets; undefined for all. */
  events?: readonly string[] | undefined;
  /** The options, as shell words, that a command needs to repeat the run. */
  repeatFlags: string[];
  /** Runs a scenario, and ends early when `ended` is aborted. A `CannotRun` ends the run. */
  run(scenario: Scenario, ended: AbortSignal): Promise<ScenarioRun>;
  /** Judges what only the end of the run shows. */
  judgeEnd?: () => Promise<ScenarioRun & Pick<Described, "name" | "ids">>;
  /** Where the progress is shown; by default nowhere. */
  output?: Output | undefined;
  interrupted?: AbortSignal | undefined;
};

/** The number of failed scenarios that an output shows during the run if it is not a terminal. */
const mostProgressLines = 5;

const noMoney = { created: [], observed: [], payouts: 0, total: 0, found: {} };

/**
 * Turns the findings of a scenario into a result for each of its requirements.
 * @param selectFlags the options, as shell words, that let a run repeat this scenario alone
 */
export function scenarioReport(
  side: Side,
  { name, ids }: Pick<Described, "name" | "ids">,
  run: ScenarioRun,
  {
    durationMs = 0,
    selectFlags = [],
    only,
  }: { durationMs?: number; selectFlags?: string[]; only?: string[] | undefined } = {},
): CheckReport {
  const { notApplicable = {}, notRun = {}, exchanges = [] } = run;
  const { results, error } = conclude({
    ...run,
    check: { name, ids },
    selected: selectedRequirements({ profile: side, only }),
    observed: [],
    notApplicable,
    notRun,
    exchanges,
    durationMs,
  });
  // A fault shows in the scenario as a whole, not in a single exchange.
  const entries = Object.entries(results).map(([id, result]) => [id, { ...result, shownBy: undefined, selectFlags }]);
  return { ...noMoney, results: Object.fromEntries(entries), notApplicable, error };
}

/**
 * Merges the scenarios in which a requirement passed into one result. A run has hundreds of results, and listing each
 * would leave no room for the evidence of failures.
 */
function withPassesTogether(requirement: RequirementResult): RequirementResult {
  const { passed = [], others = [] } = Object.groupBy(requirement.checks, ({ verdict }) =>
    verdict === "pass" ? "passed" : "others",
  );
  if (passed.length <= 1) return requirement;
  const together: CheckResult = {
    name: counted(passed.length, "scenario"),
    verdict: "pass",
    expected: passed[0]!.expected,
    actual: `as expected in ${passed.flatMap(({ selectFlags = [] }) => selectFlags.at(-1) ?? []).join(", ")}`,
    exchanges: [],
    durationMs: passed.reduce((sum, { durationMs }) => sum + durationMs, 0),
  };
  return { ...requirement, checks: [...others, together] };
}

/** Runs the scenarios that the options select, and returns the report. */
export async function judgeProgram<Scenario extends Described>(judging: Judging<Scenario>): Promise<Report> {
  const { side, target, scenarios, jobs, options, waits, events, repeatFlags, output, interrupted } = judging;
  const { only, scenarios: chosen, failFast } = options;
  const startedAt = new Date();
  const judged = scenarios.filter(({ ids }) => only === undefined || ids.some((id) => only.includes(id)));
  const waiting = judged.filter(({ id }) => chosen?.includes(id) ?? true);
  let left = judged.length;
  const progress = output && createProgress(output, waiting.length, mostProgressLines);
  const stopping = new AbortController();
  const ended = AbortSignal.any([stopping.signal, ...(interrupted ? [interrupted] : [])]);
  const checks: CheckReport[] = [];
  const finish = (title: string, report: CheckReport) => {
    progress?.finished(title, report);
    checks.push(report);
    if (failFast && Object.values(report.results).some(({ verdict }) => verdict === "fail")) stopping.abort();
  };
  const work = async () => {
    for (let next = waiting.shift(); next && !ended.aborted; next = waiting.shift()) {
      const title = `${next.id}: ${next.name}`;
      progress?.started(title);
      const began = performance.now();
      const found = await judging.run(next, ended);
      if (ended.aborted) return;
      left -= 1;
      const durationMs = Math.round(performance.now() - began);
      finish(title, scenarioReport(side, next, found, { durationMs, selectFlags: ["--scenario", next.id], only }));
    }
  };
  const errors: string[] = [];
  try {
    await Promise.all(Array.from({ length: jobs }, work));
    const end = ended.aborted ? undefined : await judging.judgeEnd?.();
    if (end) finish(end.name, scenarioReport(side, end, end, { only }));
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    errors.push(error.message);
  } finally {
    // If a scenario cannot run, the others end too.
    stopping.abort();
    progress?.ended();
  }
  if (interrupted?.aborted) errors.push("The run was interrupted.");
  if (left > 0 && errors.length === 0) {
    const text = `${counted(left, "scenario")} that ${chosen ? "--scenario" : "--fail-fast"} leaves out`;
    const lacking = requirementsOf(side).map(({ id }) => [id, { code: "caller", text }] as const);
    checks.push({ ...noMoney, results: {}, notApplicable: Object.fromEntries(lacking) });
  }
  const report = buildReport({
    conditions: sideConditions(waits, events),
    options: { ...options, profile: side, baseUrl: target, effects: "none", maxPayouts: 0, maxTotal: 0, repeatFlags },
    checks,
    errors,
    startedAt,
    finishedAt: new Date(),
  });
  return { ...report, requirements: report.requirements.map(withPassesTogether) };
}
