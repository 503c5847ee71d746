// Runs the suite against the model.
import { optionsFor, runTrial } from "../broken/trial.ts";
import type { Profile, Verdict } from "../results.ts";
import { startModel } from "./server.ts";

/** The caller provides everything that the suite can use. */
const provided = ["--effects", "money", "--recipient", "2257038102473", "--failing-recipient", "2250000000089"];

/**
 * Runs the whole suite. Returns the verdict, and the requirements that failed or gave a warning.
 * @param args further arguments of the command line
 */
export async function tryModel(profile: Profile, args: readonly string[] = []) {
  const model = await startModel();
  try {
    const options = await optionsFor(model, ["--profile", profile, ...provided, ...args]);
    const { verdict, requirements, errors } = await runTrial(options);
    const idsWith = (wanted: Verdict) => requirements.filter((each) => each.verdict === wanted).map(({ id }) => id);
    return { verdict, alarms: [...idsWith("fail"), ...idsWith("could-not-run"), ...errors], warnings: idsWith("warn") };
  } finally {
    await model.stop();
  }
}
