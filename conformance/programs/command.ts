// What the commands that judge merchants' programs have in common: their options, and what they write.
import type { ParseArgsConfig } from "node:util";
import { didYouMean } from "../cli/nearest.ts";
import { createInterruption } from "../cli/interruption.ts";
import { createReader, parseFlags, readOnly, readSeed } from "../cli/options.ts";
import { CannotRun } from "../cli/probe.ts";
import { makeFolder, readReporting, writeReports, type Reporting } from "../cli/reporting.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { renderTerminal } from "../report/terminal.ts";
import { oneLine } from "../report/visible.ts";
import { complain, print } from "../report/print.ts";
import type { Report, Side } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";

/** The options of every side, in the form that `parseArgs` of node:util expects. */
export const sideFlags = {
  only: { type: "string", multiple: true },
  scenario: { type: "string", multiple: true },
  "fail-fast": { type: "boolean", default: false },
  seed: { type: "string" },
  challenge: { type: "string" },
  report: { type: "string", default: "./certify-report" },
  baseline: { type: "string" },
  sign: { type: "string" },
  "valid-days": { type: "string", default: "90" },
} satisfies ParseArgsConfig["options"];

/** Returns what `--help` says about these options. */
export const sideUsage = (side: Side) => `\
  --scenario ID,…             run only these scenarios
  --only ID,…                 judge only these requirements (see certify list --profile ${side})
  --fail-fast                 end the run at the first scenario that fails
  --seed N                    repeat the random values of an earlier run
  --challenge TEXT            derive the seed from a text that a partner chose; it is on the certificate
  --report DIR                directory for the report (default: ./certify-report)
  --baseline FILE             known failures to tolerate until they expire (YAML: id, reason, expires)
  --sign KEYFILE              sign certificate.jws with this key if the verdict is certified
  --valid-days N              validity of that certificate in days (default: 90)`;

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

function readScenarios(values: readonly string[] | undefined, ids: readonly string[], faults: string[]) {
  if (values === undefined) return undefined;
  const named = values.flatMap((value) => value.split(",")).map((id) => id.trim());
  for (const id of named.filter((each) => !ids.includes(each))) {
    faults.push(`--scenario: there is no scenario ${JSON.stringify(id)}.${didYouMean(id, ids)}`);
  }
  return named;
}

/**
 * Reads the values of `sideFlags`. Adds what is wrong with them to `faults`.
 * @param scenarioIds the ids of all scenarios of the command
 * @param newSeed returns the seed to use if `--seed` was not given
 */
export function readSideOptions(
  side: Side,
  values: ReturnType<typeof parseFlags<typeof sideFlags>>,
  scenarioIds: readonly string[],
  newSeed: () => number,
  faults: string[],
): SideOptions {
  const read = createReader(faults);
  const only = readOnly(values.only, side, faults);
  const scenarios = readScenarios(values.scenario, scenarioIds, faults);
  const validDays = read.whole("valid-days", values["valid-days"], 1, 3650);
  const ids = requirementsOf(side).map(({ id }) => id);
  const { report: folder, baseline: baselineFile, sign: keyFile } = values;
  return {
    ...(only ? { only } : {}),
    ...(scenarios ? { scenarios } : {}),
    ...readSeed(values, read, newSeed),
    failFast: values["fail-fast"],
    reporting: readReporting({ folder, baselineFile, keyFile, validDays, ids }, faults),
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
