// Shows how the verdicts on each requirement changed over several runs, and which requirements flicker.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { CannotRun, type Report, type RequirementResult, type Verdict } from "../results.ts";
import { readReport } from "./read.ts";
import { oneLine } from "./visible.ts";
import { counted, runVerdicts } from "./words.ts";

/** A table has a column for each of the latest runs. */
const mostRuns = 20;

const signs: Record<Verdict, string> = {
  pass: "·",
  fail: "F",
  warn: "w",
  "could-not-run": "?",
  observed: "·",
  "not-applicable": " ",
};
const legend = "· passed   F failed   w warning or known failure   ? could not run   blank: not judged";

/** The kinds of requirements that a table lists, and why a reader looks at them. */
const kinds = {
  flickers: "Flickering: failed, and passed before and after, or the reverse",
  fails: "Failing",
  fixed: "Fixed",
};
type Kind = keyof typeof kinds;

const isBad = ({ verdict }: RequirementResult) => verdict === "fail" || verdict === "warn";
const isJudged = (result: RequirementResult) => isBad(result) || result.verdict === "pass";

/** Returns what the results of a requirement, the oldest first, have in common; undefined if it passed in all of them. */
function kindOf(results: readonly (RequirementResult | undefined)[]): Kind | undefined {
  const bad = results.filter((result) => result !== undefined && isJudged(result)).map((result) => isBad(result!));
  const changes = bad.filter((each, index) => index > 0 && each !== bad[index - 1]).length;
  if (changes > 1) return "flickers";
  if (bad.at(-1)) return "fails";
  return changes === 1 ? "fixed" : undefined;
}

/** Names what runs must share to be compared. The port of a target on this machine may differ from run to run. */
function subjectOf({ baseUrl, profile, watched }: Report): string {
  const target = baseUrl.replace(/^(https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d+/, "$1");
  return [target, profile, ...(watched ? ["watched traffic"] : [])].join(" · ");
}

/** Renders the line of a run, and what makes it hard to compare with the run before. */
function runLine(run: Report, number: number, before: Report | undefined): string {
  const { startedAt, verdict, effects, only, specSha256, suiteVersion } = run;
  const notes = [
    ...(before && before.effects !== effects ? [`effects ${effects}`] : []),
    ...(only ? ["--only"] : []),
    ...(before && before.specSha256 !== specSha256 ? ["another contract"] : []),
    ...(before && before.suiteVersion !== suiteVersion ? [`suite ${suiteVersion}`] : []),
  ];
  const when = startedAt.replace("T", " ").replace(/:\d\d(\.\d+)?Z$/, " UTC");
  return oneLine(`  ${String(number).padStart(3)}  ${when}  ${[runVerdicts[verdict], ...notes].join(", ")}`);
}

const cells = (texts: readonly string[]) => texts.map((text) => text.padStart(3)).join("");

function tableOf(subject: string, all: readonly Report[]): string[] {
  const runs = all.slice(-mostRuns);
  const ids = [...new Set(runs.flatMap(({ requirements }) => requirements.map(({ id }) => id)))];
  const byRun = runs.map(({ requirements }) => new Map(requirements.map((result) => [result.id, result])));
  const rows = ids.map((id) => ({ id, results: byRun.map((results) => results.get(id)) }));
  const width = Math.max(...ids.map((id) => id.length)) + 2;
  const groups = Object.entries(kinds).flatMap(([kind, title]) => {
    const members = rows.filter(({ results }) => kindOf(results) === kind);
    const lines = members.map(
      ({ id, results }) =>
        `  ${oneLine(id).padEnd(width)}${cells(results.map((each) => (each ? signs[each.verdict] : "")))}`,
    );
    return members.length > 0 ? ["", `${title} (${members.length})`, ...lines.map((line) => line.trimEnd())] : [];
  });
  const listed = rows.filter(({ results }) => kindOf(results)).length;
  const judged = rows.filter(({ results }) => results.some((each) => each && isJudged(each))).length;
  return [
    `${oneLine(subject)} · ${counted(all.length, "run")}`,
    ...runs.map((run, index) => runLine(run, index + 1, runs[index - 1])),
    ...(all.length > runs.length ? [`  ${counted(all.length - runs.length, "earlier run")} left out.`] : []),
    ...(groups.length > 0 ? ["", `  ${"run".padEnd(width)}${cells(runs.map((_, index) => String(index + 1)))}`] : []),
    ...groups,
    "",
    `${counted(judged - listed, "requirement")} passed whenever judged; ${rows.length - judged} not judged.`,
    "",
  ];
}

/** Renders the history of runs: a table for each target and profile. */
export function renderHistory(reports: readonly Report[]): string {
  const inTime = reports.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const tables = [...Map.groupBy(inTime, subjectOf)].flatMap(([subject, runs]) => tableOf(subject, runs));
  return [...tables, legend, ""].join("\n");
}

/**
 * Renders the history of the runs whose report.json is in a folder or below. A file that is not a report is named.
 * @throws CannotRun if the folder cannot be read or has no report
 */
export function historyOf(folder: string): string {
  const reports: Report[] = [];
  const problems: string[] = [];
  for (const file of filesIn(folder)
    .filter((name) => basename(name) === "report.json")
    .toSorted()) {
    try {
      reports.push(readReport(join(folder, file)));
    } catch (error) {
      if (!(error instanceof CannotRun)) throw error;
      problems.push(`Left out: ${error.message}`);
    }
  }
  if (reports.length === 0) {
    const hint = "Keep the report of each run in a folder of its own, such as with --report runs/$(date +%F-%H%M).";
    throw new CannotRun([`${folder} contains no report of certify. ${hint}`, ...problems].join("\n"));
  }
  return [...problems.map((problem) => oneLine(problem)), renderHistory(reports)].join("\n");
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (error) {
    throw new CannotRun(`${folder} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
