// What the commands that judge merchants' programs have in common: their options, and what they write.
import { createInterruption } from "../cli/interruption.ts";
import { didYouMean, names, type Options, type Values } from "../cli/flags.ts";
import { onlyIn, reportingOf, reportOptions, seedIn, seedOptions } from "../cli/options.ts";
import { makeFolder, writeReports, type Reporting } from "../cli/reporting.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { renderTerminal } from "../report/terminal.ts";
import { oneLine } from "../report/visible.ts";
import { complain, print } from "../report/print.ts";
import { CannotRun, type Report, type Side } from "../results.ts";
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
export const mostProgressLines = 5;

/** Returns true if a scenario must end a run with `--fail-fast`. */
export const isFailure = ({ results }: CheckReport) => Object.values(results).some(({ verdict }) => verdict === "fail");

/**
 * Judges a merchant's program, writes the report's files, prints the report, and returns the exit code of the command.
 * @param judge ends early when its signal is aborted, as the user's interruption does
 * @throws CannotRun if the report cannot be written
 */
export async function runSide(
  reporting: Reporting,
  judge: (interrupted: AbortSignal) => Promise<Report>,
): Promise<0 | 1 | 2> {
  try {
    makeFolder(reporting);
  } catch (error) {
    throw new CannotRun(`--report: ${(error as Error).message}`);
  }
  const { interrupted, listen, unlisten } = createInterruption();
  listen();
  const found = await judge(interrupted).finally(unlisten);
  const { report, files, refusal, exitCode } = await writeReports(found, reporting, new Date());
  console.log(`\n${renderTerminal(report, process.stdout.isTTY ? { color: true } : { color: false, mostLines: 20 })}`);
  print(`Written: ${oneLine(files.join(", "))}`);
  if (refusal !== undefined) complain(refusal);
  return exitCode;
}
