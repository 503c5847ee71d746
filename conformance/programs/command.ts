// What the commands that judge merchants' programs have in common: their options, and what they write.
import { didYouMean, names, refuse, type Options, type Values } from "../cli/flags.ts";
import { onlyIn, reportOptions, seedIn, seedOptions, type Reporting } from "../cli/options.ts";
import { createInterruption, makeFolder, publish } from "../cli/reporting.ts";
import type { Report, Side } from "../results.ts";
import type { Described } from "./run.ts";

/** The form of an option that names what a run selects. */
const selection = { value: "ID,…", otherwise: "all", many: true, read: names, repeat: false } as const;

/** The options that `certify client` and `certify receiver` have in common. */
export const sideOptions = (side: Side) =>
  ({
    scenario: { ...selection, meaning: "run only these scenarios" },
    only: { ...selection, meaning: `judge only these requirements (see \`certify list --profile ${side}\`)` },
    "fail-fast": { meaning: "ends the run at the first scenario that fails", repeat: false },
    ...seedOptions,
    ...reportOptions,
  }) as const satisfies Options;

/**
 * Reads the options that both commands have in common.
 * @param scenarios all scenarios of the command
 * @param newSeed returns the seed to use if `--seed` was not given
 * @param faults what is wrong with the other options
 * @throws OptionsError with every fault found
 */
export function sideOptionsOf(
  side: Side,
  values: Values<ReturnType<typeof sideOptions>>,
  scenarios: readonly Described[],
  newSeed: () => number,
  faults: string[],
) {
  const only = onlyIn(values.only, side, faults);
  const ids = scenarios.map(({ id }) => id);
  const chosen = values.scenario?.flat();
  for (const id of chosen?.filter((each) => !ids.includes(each)) ?? []) {
    faults.push(`--scenario: there is no scenario ${JSON.stringify(id)}.${didYouMean(id, ids)}`);
  }
  const seed = seedIn(values, newSeed, faults);
  refuse(faults);
  return { only, scenarios: chosen, failFast: values["fail-fast"], ...seed };
}

/**
 * Judges a merchant's program, writes the report's files, prints the report, and returns the exit code of the command.
 * @param judge must end early when its signal is aborted, which the user's interruption does
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
