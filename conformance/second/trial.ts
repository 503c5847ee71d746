// Runs the suite against the second implementation and its mutants.
import { optionsFor, runTrial } from "../broken/trial.ts";
import type { Profile, Report, Verdict } from "../results.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { loadMutant, type Mutant } from "./mutant.ts";
import { startSecond, type Second } from "./server.ts";

/** The caller provides everything that the suite can use. */
const provided = ["--effects", "money", "--recipient", "2257038102473", "--failing-recipient", "2250000000089"];

const hasFailed = ({ results }: CheckReport) => Object.values(results).some(({ verdict }) => verdict === "fail");

/** Runs the whole suite, or up to the first check by which a `must` fails. */
async function run(start: () => Promise<Second>, profile: Profile, isUntilFailure: boolean): Promise<Report> {
  const server = await start();
  try {
    const options = await optionsFor(server, ["--profile", profile, ...provided]);
    return await runTrial(options, { enough: (report) => isUntilFailure && hasFailed(report) });
  } finally {
    await server.stop();
  }
}

/** Runs the whole suite against the sound implementation. Returns the verdict and what failed or was only warned of. */
export async function trySecond(profile: Profile) {
  const { verdict, requirements, errors } = await run(startSecond, profile, false);
  const idsWith = (wanted: Verdict) => requirements.filter((each) => each.verdict === wanted).map(({ id }) => id);
  const alarms = [...idsWith("fail"), ...idsWith("could-not-run"), ...errors];
  return { verdict, alarms, warnings: idsWith("warn") };
}

/** Runs the suite against a mutant. Returns the requirements by which it was caught, and the suite's own errors. */
export async function tryMutant(mutant: Mutant & { profile: Profile }) {
  const { startSecond: start } = await loadMutant(mutant);
  const report = await run(start, mutant.profile, true);
  const by = report.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
  return { by, errors: report.errors };
}
