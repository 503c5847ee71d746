// Runs the suite against a server of this process: the checks, the gate and the report are those of `certify`, without
// the tool that shows them one by one.
import { checks, pending, watches } from "../checks/index.ts";
import { openSession } from "../run/open.ts";
import { readOptions } from "../cli/options.ts";
import type { RunOptions } from "../run-options.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { probe } from "../cli/probe.ts";
import type { Report } from "../results.ts";
import { selectedChecks } from "../run/selection.ts";
import { buildReport } from "../run/tree.ts";
import type { Running } from "./server.ts";

const seed = 20_261_120;

/** The options that the command line makes of these arguments for a server. */
export function optionsFor(server: Running, args: readonly string[]): Promise<RunOptions> {
  const env = { API_KEY: server.key, API_KEY_2: server.secondKey };
  return probe(readOptions(["--base-url", server.url, ...args], env, () => seed));
}

export type Trial = {
  /** Runs the checks that judge these requirements; all checks when left out. */
  only?: readonly string[];
  /** Of requirements that every answer is judged for: the one whose checks are enough to get such answers. */
  through?: string | undefined;
  /** Ends the run early, once it says so of what one check reported. */
  enough?: (report: CheckReport) => boolean;
};

/** Runs checks against a server, and reports whatever they found out on the way. */
export async function tryOut(
  options: RunOptions,
  { only, through, enough = () => false }: Trial = {},
): Promise<Report> {
  const { session, close } = await openSession(options);
  const startedAt = new Date();
  const reports: CheckReport[] = [];
  try {
    const watched = session.watchAll(watches);
    const watching = only?.some((id) => watched.ids.includes(id)) ?? false;
    const wanted = through === undefined ? only : [through];
    for (const check of selectedChecks(checks, watched.ids, { ...options, only: wanted && [...wanted] })) {
      const report = await session.runCheck(check);
      reports.push(report);
      if (enough(report) || (watching && enough(await session.runCheck(watched)))) break;
    }
    reports.push(await session.runCheck(watched));
  } finally {
    await close();
  }
  return buildReport({ options, pending, checks: reports, errors: [], startedAt, finishedAt: new Date() });
}
