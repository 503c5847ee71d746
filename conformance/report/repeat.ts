// Finds the one command that repeats a failure.
import { isSide, type CheckResult, type Report, type RequirementResult } from "../results.ts";
import { quoted } from "../target/shell.ts";
import { raceCommand } from "../target/recorder.ts";
import { shownBy } from "./causes.ts";

/**
 * Returns the command that re-runs the checks of `ids`, or all checks, with the same inputs. The command reads keys from
 * the environment.
 */
export function repeatCommand(report: Report, ids?: readonly string[]): string {
  const { baseUrl, profile, effects } = report;
  const target = isSide(profile) ? [profile] : ["--base-url", baseUrl, "--profile", profile, "--effects", effects];
  const words = [
    "npx",
    "--no",
    "--",
    "certify",
    ...target,
    ...(ids ? ["--only", ids.join(",")] : []),
    "--seed",
    String(report.seed),
  ].map(quoted);
  return [...words, ...(report.repeatFlags ?? [])].join(" ");
}

/**
 * Returns the command that repeats the failed requirements. For a merchant's program, it repeats only the failed
 * scenarios.
 */
export function repeatFailures(report: Report): string {
  const failed = report.requirements.filter(({ verdict }) => verdict === "fail");
  const flags = failed.flatMap(({ checks }) =>
    checks.flatMap(({ verdict, selectFlags = [] }) => (verdict === "fail" ? [selectFlags] : [])),
  );
  const [name] = flags.flat();
  const values = [...new Set(flags.map(([, value]) => value))];
  // A requirement that is judged at the end of a run needs the whole run.
  const scenarios = name === undefined || values.includes(undefined) ? [] : [name, values.join(",")];
  return [
    repeatCommand(
      report,
      failed.map(({ id }) => id),
    ),
    ...scenarios,
  ].join(" ");
}

/**
 * Returns the command that repeats what a check found about a requirement: the request, if a single request shows it,
 * else the check.
 */
export function repeatOf(report: Report, requirement: Pick<RequirementResult, "id">, check: CheckResult): string {
  const { selectFlags } = check;
  if (selectFlags) return [repeatCommand(report, [requirement.id]), ...selectFlags].join(" ");
  const curl = shownBy(check)?.curl;
  const hasRace = check.exchanges.some((exchange) => exchange.curl === raceCommand);
  if (curl === undefined || curl.startsWith("#") || hasRace) return repeatCommand(report, [requirement.id]);
  return curl;
}
