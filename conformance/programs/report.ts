// Builds the report of a run that judged a merchant's program, such as a client. The suite itself plays the service in
// such a run, so no money moves. Everything that reads a report of a service reads this report too.
import { requirementsOf } from "../contract/requirements.ts";
import { counted } from "../report/words.ts";
import type {
  CheckResult,
  Conditions,
  Exchange,
  NotJudged,
  Report,
  Requirement,
  RequirementResult,
  Side,
} from "../results.ts";
import { sideConditions } from "../run/conditions.ts";
import { buildReport } from "../run/tree.ts";
import { conclude, type CheckReport, type Finding } from "../run/verdicts.ts";

/** What a run found in one scenario. */
export type ScenarioRun = {
  /** What the scenario does, as reports name it. */
  name: string;
  /** The ids of the requirements that the scenario judges. */
  ids: readonly string[];
  /** At least one finding for each id, unless `notApplicable`, `notRun` or `thrown` gives a reason. */
  findings: readonly Finding[];
  notApplicable?: Readonly<Record<string, NotJudged>>;
  /** The reasons why requirements could not be judged, by requirement id. */
  notRun?: Readonly<Record<string, string>>;
  /** What the merchant's program sent or received, redacted. */
  exchanges?: readonly Exchange[];
  durationMs: number;
  /**
   * A `Prerequisite` if the program did not do what the scenario builds on; any other error is a fault of the suite.
   */
  thrown?: unknown;
  /** The options, as shell words, that let a run repeat this scenario alone. */
  selectFlags: string[];
};

export type SideRun = {
  side: Side;
  /** The judged program, such as the command of a client. */
  target: string;
  /** The ids in `--only`; undefined if the option was not given. */
  only?: string[];
  seed: number;
  challenge?: string;
  waits: Conditions["waits"];
  /** The types of events that a receiver gets; undefined for all. */
  events?: readonly string[];
  /** The options, as shell words, that a command needs to repeat the run. */
  repeatFlags: string[];
  /** Parts of the run that the caller left out, such as scenarios. The run then passes at most partially. */
  leftOut?: string;
  scenarios: readonly CheckReport[];
  /** The reason if the run ended early. */
  errors: readonly string[];
  startedAt: Date;
  finishedAt: Date;
};

const noMoney = { created: [], observed: [], payouts: 0, total: 0, found: {} };

const selectedOf = (side: Side, only?: readonly string[]): Map<string, Requirement> =>
  new Map(
    requirementsOf(side)
      .filter(({ id }) => only?.includes(id) ?? true)
      .map((requirement) => [requirement.id, requirement]),
  );

/** Adds the options that repeat the scenario. A fault shows in the scenario as a whole, not in a single exchange. */
function ofScenario(result: CheckResult, selectFlags: string[]): CheckResult {
  const { shownBy: _shownBy, ...rest } = result;
  return { ...rest, selectFlags };
}

/** Turns the findings of a scenario into a result for each of its requirements. */
export function scenarioReport(side: Side, run: ScenarioRun, only?: readonly string[]): CheckReport {
  const { name, ids, findings, notApplicable = {}, notRun = {}, exchanges = [], durationMs, thrown, selectFlags } = run;
  const { results, error } = conclude({
    check: { name, ids },
    selected: selectedOf(side, only),
    findings,
    observed: [],
    notApplicable,
    notRun,
    exchanges,
    durationMs,
    thrown,
  });
  const entries = Object.entries(results).map(([id, result]) => [id, ofScenario(result, selectFlags)]);
  return { ...noMoney, results: Object.fromEntries(entries), notApplicable, ...(error === undefined ? {} : { error }) };
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
  const ids = passed.flatMap(({ selectFlags = [] }) => selectFlags.at(-1) ?? []);
  const together: CheckResult = {
    name: counted(passed.length, "scenario"),
    verdict: "pass",
    expected: passed[0]!.expected,
    actual: `as expected in ${ids.join(", ")}`,
    exchanges: [],
    durationMs: passed.reduce((sum, { durationMs }) => sum + durationMs, 0),
  };
  return { ...requirement, checks: [...others, together] };
}

/** Builds the report of a run from the reports of its scenarios. */
export function sideReport(settings: SideRun): Report {
  const { side, target, only, seed, challenge, waits, events, repeatFlags, leftOut, scenarios, ...run } = settings;
  const ids = requirementsOf(side).map(({ id }) => id);
  const lacking =
    leftOut === undefined ? [] : ids.map((id) => [id, { code: "caller", text: leftOut } as const] as const);
  const rest: CheckReport = { ...noMoney, results: {}, notApplicable: Object.fromEntries(lacking) };
  const report = buildReport({
    ...run,
    conditions: sideConditions(waits, events),
    options: {
      profile: side,
      baseUrl: target,
      effects: "none",
      maxPayouts: 0,
      maxTotal: 0,
      seed,
      ...(challenge === undefined ? {} : { challenge }),
      repeatFlags,
      ...(only ? { only } : {}),
    },
    checks: [...scenarios, rest],
  });
  return { ...report, requirements: report.requirements.map(withPassesTogether) };
}
