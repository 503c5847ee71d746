// Runs the suite against a server in this process. It uses the same checks, target and report as `certify`, but it
// can select checks more freely and can end early.
import type { Check } from "../check.ts";
import { checks, watches } from "../topics/index.ts";
import { conditionsOf } from "../run/tree.ts";
import { openSession } from "../run/open.ts";
import { readOptions } from "../cli/options.ts";
import type { RunOptions } from "../run-options.ts";
import type { CheckReport } from "../run/verdicts.ts";
import { probe } from "../cli/probe.ts";
import type { Report } from "../results.ts";
import { inOrder, selectedChecks } from "../run/selection.ts";
import { buildReport } from "../run/tree.ts";
import type { Running } from "./server.ts";

const seed = 20_261_120;

/** Parses the arguments as the command line does, probes the server, and returns the options of the run. */
export function optionsFor(server: Running, args: readonly string[]): Promise<RunOptions> {
  const env = { API_KEY: server.key, API_KEY_2: server.secondKey };
  return probe(readOptions(["--base-url", server.url, "--linger", "0", ...args], env, () => seed));
}

export type Trial = {
  /** Run only the checks of the requirements with these ids. By default all checks run. */
  only?: readonly string[];
  /**
   * Run only the checks of the requirement with this id, and the closing checks of the requirements in `only`. Without
   * it, all checks run if `only` names a requirement that is judged on every response or only at the end.
   */
  through?: string | undefined;
  /** Selects and orders the checks to run. By default all of them run, in the order of a run. */
  choose?: (checks: Check[]) => Check[];
  /** Judge the requirements that concern every response not only at the end, but after each check. */
  watching?: boolean;
  /** Called with each check and its report. If it returns true, the run ends. */
  enough?: (report: CheckReport, check: Check) => boolean;
};

/** Returns the checks to run. With `through`, the checks include the closing checks of the requirements in `only`. */
function checksOf({ only, through }: Trial, watched: readonly string[], options: RunOptions): Check[] {
  const wanted = through === undefined ? only : [through];
  const selected = selectedChecks(checks, watched, { ...options, only: wanted && [...wanted] });
  if (through === undefined) return selected;
  const closing = checks.filter(({ phase, ids }) => phase === "closing" && ids.some((id) => only?.includes(id)));
  return inOrder([...new Set([...selected, ...closing])], options.seed);
}

/** Runs checks against a server and builds a report. It also builds a report if `enough` ends the run early. */
export async function runTrial(
  options: RunOptions,
  { only, through, choose = (all) => all, enough = () => false, ...trial }: Trial = {},
): Promise<Report> {
  const { session, close } = await openSession(options);
  const startedAt = new Date();
  const reports: CheckReport[] = [];
  try {
    const watched = session.watchAll(watches);
    const watching = trial.watching ?? only?.some((id) => watched.ids.includes(id)) ?? false;
    const chosen = choose(checksOf({ only, through }, watched.ids, options));
    for await (const { check, report } of session.runAll(chosen)) {
      reports.push(report);
      if (enough(report, check) || (watching && enough(await session.runCheck(watched), watched))) break;
    }
    reports.push(await session.runCheck(watched));
  } finally {
    await close();
  }
  const conditions = conditionsOf(options);
  return buildReport({ options, conditions, checks: reports, errors: [], startedAt, finishedAt: new Date() });
}
