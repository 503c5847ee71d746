// Runs the suite against a server in this process. It uses the same checks, target and report as `certify`, but it
// can select checks more freely and can end early.
import type { Declaration } from "../allowances/declaration.ts";
import type { Check } from "../check.ts";
import { checks, watches } from "../topics/index.ts";
import { openSession } from "../run/run.ts";
import { readOptions } from "../cli/options.ts";
import type { RunOptions } from "../run-options.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { probe } from "../cli/probe.ts";
import type { Report } from "../results.ts";
import { inOrder, selectedChecks } from "../run/selection.ts";
import { buildReport, conditionsOf } from "../run/tree.ts";
import type { Running } from "./server.ts";

const seed = 20_261_120;

export type Trial = {
  /** Run only the checks of the requirements with these ids. By default all checks run. */
  only?: readonly string[];
  /**
   * Run only the checks of the requirement with this id, and the closing checks of the requirements in `only`. Without
   * it, all checks run if `only` names a requirement that is judged on every response or only at the end.
   */
  through?: string | undefined;
  /** Called with the report of each check. If it returns true, the run ends. */
  enough?: (report: CheckReport) => boolean;
  /** What the deployment declares in certify.yaml. */
  declared?: Declaration | undefined;
};

/** Returns the checks to run. With `through`, the checks include the closing checks of the requirements in `only`. */
function checksOf({ only, through }: Trial, watched: readonly string[], options: RunOptions): Check[] {
  const wanted = through === undefined ? only : [through];
  const selected = selectedChecks(checks, watched, { ...options, only: wanted && [...wanted] });
  if (through === undefined) return selected;
  const closing = checks.filter(({ phase, ids }) => phase === "closing" && ids.some((id) => only?.includes(id)));
  return inOrder([...new Set([...selected, ...closing])], options.seed);
}

/**
 * Runs checks against a server and stops the server. Returns a report, also if `enough` ends the run early.
 * @param args arguments of the command line
 */
export async function runTrial(
  server: Running | Promise<Running>,
  args: readonly string[] = [],
  { only, through, enough = () => false, declared }: Trial = {},
): Promise<Report> {
  const { url, key, secondKey, stop } = await server;
  try {
    const env = { API_KEY: key, API_KEY_2: secondKey };
    const read = await probe(readOptions(["--base-url", url, "--linger", "0", ...args], env, () => seed));
    const options = { ...read, ...(declared && { declared }) };
    const { session, close } = await openSession(options);
    const startedAt = new Date();
    const reports: CheckReport[] = [];
    try {
      const watched = session.watchAll(watches);
      // Judge requirements about every response after each check too, so that `enough` can end the run.
      const isWatching = only?.some((id) => watched.ids.includes(id)) ?? false;
      for await (const { report } of session.runAll(checksOf({ only, through }, watched.ids, options))) {
        reports.push(report);
        if (enough(report) || (isWatching && enough(await session.runCheck(watched)))) break;
      }
      reports.push(await session.runCheck(watched));
    } finally {
      await close();
    }
    const conditions = conditionsOf(options);
    return buildReport({ options, conditions, checks: reports, errors: [], startedAt, finishedAt: new Date() });
  } finally {
    await stop();
  }
}
