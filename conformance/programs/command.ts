// What the commands that judge merchants' programs have in common: their options, and what they write.
import { createInterruption } from "../cli/interruption.ts";
import { didYouMean, names, type Options, type Values } from "../cli/flags.ts";
import { onlyIn, reportingOf, reportOptions, seedIn, seedOptions } from "../cli/options.ts";
import { makeFolder, publish, type Reporting } from "../cli/reporting.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { counted } from "../report/words.ts";
import { CannotRun, type Conditions, type Report, type Side } from "../results.ts";
import { createProgress, type Output } from "../run/progress.ts";
import { scenarioReport, sideReport, type ScenarioRun } from "./report.ts";
import type { CheckReport } from "../run/verdicts.ts";

/** The options of every side. */
export const sideOptions = (side: Side) =>
  ({
    scenario: {
      value: "ID,…",
      meaning: "run only these scenarios",
      otherwise: "all",
      many: true,
      read: names,
      repeat: false,
    },
    only: {
      value: "ID,…",
      meaning: `judge only these requirements (see \`certify list --profile ${side}\`)`,
      otherwise: "all",
      many: true,
      read: names,
      repeat: false,
    },
    "fail-fast": { meaning: "ends the run at the first scenario that fails", repeat: false },
    ...seedOptions,
    ...reportOptions(requirementsOf(side).map(({ id }) => id)),
  }) as const satisfies Options;

export type SideOptions = {
  /** The ids of the requirements to judge; undefined for all. */
  only?: string[];
  /** The ids of the scenarios to run; undefined for all. */
  scenarios?: string[];
  seed: number;
  challenge?: string;
  /** True if the run ends at the first scenario that fails. */
  failFast: boolean;
  reporting: Reporting;
};

/**
 * Returns the options of every side from their values. Adds what is wrong with them to `faults`.
 * @param scenarioIds the ids of all scenarios of the command
 * @param newSeed returns the seed to use if `--seed` was not given
 */
export function sideOptionsOf(
  side: Side,
  values: Values<ReturnType<typeof sideOptions>>,
  scenarioIds: readonly string[],
  newSeed: () => number,
  faults: string[],
): SideOptions {
  const only = onlyIn(values.only, side, faults);
  const scenarios = values.scenario?.flat();
  for (const id of scenarios?.filter((each) => !scenarioIds.includes(each)) ?? []) {
    faults.push(`--scenario: there is no scenario ${JSON.stringify(id)}.${didYouMean(id, scenarioIds)}`);
  }
  return {
    ...(only ? { only } : {}),
    ...(scenarios ? { scenarios } : {}),
    ...seedIn(values, newSeed, faults),
    failFast: values["fail-fast"],
    reporting: reportingOf(values),
  };
}

/** The number of failed scenarios that an output shows during the run if it is not a terminal. */
const mostProgressLines = 5;

const isFailure = ({ results }: CheckReport) => Object.values(results).some(({ verdict }) => verdict === "fail");

/** What a run judges, and how. */
export type Judging<Scenario> = {
  side: Side;
  /** The judged program, as the report names it. */
  target: string;
  scenarios: readonly Scenario[];
  /** How many scenarios run at the same time. */
  jobs: number;
  options: Partial<Pick<SideOptions, "only" | "scenarios" | "failFast" | "challenge">> & Pick<SideOptions, "seed">;
  waits: Conditions["waits"];
  /** The types of events that a receiver gets; undefined for all. */
  events?: readonly string[];
  /** The options, as shell words, that a command needs to repeat the run. */
  repeatFlags: string[];
  /** Runs a scenario, and ends early when `ended` is aborted. A `CannotRun` ends the run. */
  run(scenario: Scenario, ended: AbortSignal): Promise<ScenarioRun>;
  /** Judges what only the end of the run shows. */
  judgeEnd?: () => Promise<ScenarioRun>;
  /** Where the progress is shown; by default nowhere. */
  output?: Output;
  interrupted?: AbortSignal;
};

/** Runs the scenarios that the options select, and returns the report. */
export async function judgeProgram<Scenario extends { id: string; name: string; ids: readonly string[] }>(
  judging: Judging<Scenario>,
): Promise<Report> {
  const { side, scenarios, jobs, options, run, judgeEnd, output, interrupted, ...rest } = judging;
  const { only, scenarios: chosen, failFast, seed, challenge } = options;
  const startedAt = new Date();
  const judged = scenarios.filter(({ ids }) => only === undefined || ids.some((id) => only.includes(id)));
  const waiting = judged.filter(({ id }) => chosen?.includes(id) ?? true);
  const progress = output && createProgress(output, waiting.length, mostProgressLines);
  const stopping = new AbortController();
  const ended = AbortSignal.any([stopping.signal, ...(interrupted ? [interrupted] : [])]);
  const reports: CheckReport[] = [];
  const conclude = (title: string, found: ScenarioRun) => {
    const report = scenarioReport(side, found, only);
    progress?.finished(title, report);
    reports.push(report);
    if (failFast && isFailure(report)) stopping.abort();
  };
  const work = async () => {
    for (let next = waiting.shift(); next && !ended.aborted; next = waiting.shift()) {
      const title = `${next.id}: ${next.name}`;
      progress?.started(title);
      const found = await run(next, ended);
      if (!ended.aborted) conclude(title, found);
    }
  };
  const errors: string[] = [];
  let left = 0;
  try {
    await Promise.all(Array.from({ length: jobs }, work));
    left = judged.length - reports.length;
    const end = ended.aborted ? undefined : await judgeEnd?.();
    if (end) conclude(end.name, end);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    errors.push(error.message);
  } finally {
    // If a scenario cannot run, the others end too.
    stopping.abort();
    progress?.ended();
  }
  if (interrupted?.aborted) errors.push("The run was interrupted.");
  const isLeftOut = left > 0 && errors.length === 0;
  const leftOut = `${counted(left, "scenario")} that ${chosen ? "--scenario" : "--fail-fast"} leaves out`;
  return sideReport({
    ...rest,
    side,
    seed,
    ...(challenge === undefined ? {} : { challenge }),
    ...(only ? { only } : {}),
    ...(isLeftOut ? { leftOut } : {}),
    scenarios: reports,
    errors,
    startedAt,
    finishedAt: new Date(),
  });
}

/**
 * Judges a merchant's program, writes the report's files, prints the report, and returns the exit code of the command.
 * @param judge ends early when its signal is aborted, as the user's interruption does
 * @throws CannotRun if the report cannot be written
 */
export async function runSide(
  reporting: Reporting,
  judge: (interrupted: AbortSignal) => Promise<Report>,
): Promise<0 | 1 | 2> {
  makeFolder(reporting);
  const { interrupted, listen, unlisten } = createInterruption();
  listen();
  return publish(await judge(interrupted).finally(unlisten), reporting, new Date());
}
