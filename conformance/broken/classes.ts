// Shows that a class of defects is caught only by the checks that were written for it. All checks of the profile run
// against a server of the class, and no other requirement may fail.
import { faults } from "./faults.ts";
import type { Fault } from "./fault.ts";
import { startBroken } from "./server.ts";
import { optionsFor, runTrial } from "./trial.ts";

/** A fault that only some requirements catch. */
export type SoleCatch = Fault & Required<Pick<Fault, "onlyBy">>;

export const classes = faults.filter((each): each is SoleCatch => each.onlyBy !== undefined);

/** The requirements that failed: `own` are of the class, `others` are not and should have passed. */
export type Killers = { own: string[]; others: string[]; errors: string[]; ms: number };

/**
 * The age from which a server treats a record as old. No check takes so long. Therefore only the checks at the end of
 * the run, after `lingerSeconds`, find old records.
 */
const oldAge = 30_000;
const lingerSeconds = 35;

/** Runs all checks of the profile against the server of a class. */
export async function findKillers({ how, onlyBy: { ids, profile } }: SoleCatch): Promise<Killers> {
  const start = performance.now();
  const server = await startBroken(how, oldAge);
  try {
    const report = await runTrial(await optionsFor(server, ["--profile", profile, "--linger", String(lingerSeconds)]));
    const failed = report.requirements.filter(({ verdict }) => verdict === "fail").map((each) => each.id);
    return {
      own: failed.filter((each) => ids.includes(each)),
      others: failed.filter((each) => !ids.includes(each)),
      errors: report.errors,
      ms: Math.round(performance.now() - start),
    };
  } finally {
    await server.stop();
  }
}
