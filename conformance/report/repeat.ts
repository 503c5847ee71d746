// Makes the commands that repeat a run, its failures, or a single check.
import { isSide, type CheckResult, type Report, type RequirementResult } from "../results.ts";
import { quoted } from "../target/shell.ts";
import { raceCommand } from "../target/recorder.ts";
import { shownBy } from "./causes.ts";

/**
 * Returns the command that re-runs the checks of `ids`, or all checks, with the same inputs. The command reads keys from
 * the environment.
 */
export function repeatCommand(report: Report, ids?: readonly string[]): string {
  const { baseUrl, profile, effects, seed, repeatFlags = [] } = report;
  const target = isSide(profile) ? [profile] : ["--base-url", baseUrl, "--profile", profile, "--effects", effects];
  const words = [...target, ...(ids ? ["--only", ids.join(",")] : []), "--seed", String(seed)];
  return ["npx --no -- certify", ...words.map(quoted), ...repeatFlags].join(" ");
}

/**
 * Returns the command that repeats the failed requirements; undefined if no check of a run failed. For a merchant's
 * program, it repeats only the failed scenarios.
 */
export function repeatFailures(report: Report): string | undefined {
  const failed = report.requirements.filter(
    ({ verdict, checks }) => verdict === "fail" && checks.some((check) => check.verdict === "fail" && !check.watched),
  );
  if (failed.length === 0) return undefined;
  const command = repeatCommand(
    report,
    failed.map(({ id }) => id),
  );
  const flags = failed.flatMap(({ checks }) =>
    checks.flatMap(({ verdict, selectFlags = [] }) => (verdict === "fail" ? [selectFlags] : [])),
  );
  const [name] = flags.flat();
  const values = [...new Set(flags.map(([, value]) => value))];
  // A requirement that is judged at the end of a run needs the whole run.
  return name === undefined || values.includes(undefined) ? command : `${command} ${name} ${values.join(",")}`;
}

/**
 * Returns the command that repeats what a check found about a requirement: the request, if a single request shows it,
 * else the check. Undefined for watched traffic, which nobody should repeat.
 */
export function repeatOf(
  report: Report,
  { id }: Pick<RequirementResult, "id">,
  check: CheckResult,
): string | undefined {
  const { selectFlags = [], exchanges, watched } = check;
  if (watched) return undefined;
  // A shell comment instead of a command says why no command repeats the request.
  const curl = shownBy(check)?.curl ?? "#";
  const hasRace = exchanges.some((exchange) => exchange.curl === raceCommand);
  if (selectFlags.length === 0 && !curl.startsWith("#") && !hasRace) return curl;
  return [repeatCommand(report, [id]), ...selectFlags].join(" ");
}
