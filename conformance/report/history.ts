// Shows how the verdicts on each requirement changed over several runs, and which requirements flicker.
import { globSync } from "node:fs";
import { join } from "node:path";
import { CannotRun, type Report, type Verdict } from "../results.ts";
import { readReport } from "./json.ts";
import { oneLine } from "./visible.ts";
import { counted, runVerdicts } from "./words.ts";

const signs: Record<Verdict, string> = {
  pass: "·",
  fail: "F",
  warn: "w",
  "could-not-run": "?",
  observed: "·",
  "not-applicable": " ",
};
const legend =
  "· passed   F failed   w warning or known failure   ? could not run   blank: not judged\n" +
  "~ flickers: failed, and passed before and after, or the reverse\n";

const subjectOf = ({ baseUrl, profile, watched }: Report) =>
  [baseUrl, profile, ...(watched ? ["watched traffic"] : [])].join(" · ");

const flickers = (cells: string) => /·[Fw]+·|[Fw]·+[Fw]/.test(cells.replaceAll(/[ ?]/g, ""));

/** Renders the runs of a subject, and a row for each requirement that failed in one of them, with a cell for each run. */
function tableOf(subject: string, runs: readonly Report[]): string[] {
  const verdictsByRun = runs.map(({ requirements }) => new Map(requirements.map(({ id, verdict }) => [id, verdict])));
  const ids = [...new Set(verdictsByRun.flatMap((verdicts) => [...verdicts.keys()]))];
  const rows = ids
    .map((id) => ({ id, cells: verdictsByRun.map((verdicts) => signs[verdicts.get(id) ?? "not-applicable"]).join("") }))
    .filter(({ cells }) => /[Fw]/.test(cells));
  const width = Math.max(...rows.map(({ id }) => id.length));
  return [
    `${subject} · ${counted(runs.length, "run")}`,
    ...runs.map(
      ({ startedAt, verdict }) => `  ${startedAt.slice(0, 16).replace("T", " ")} UTC  ${runVerdicts[verdict]}`,
    ),
    ...rows.map(({ id, cells }) => `${flickers(cells) ? "~" : " "} ${id.padEnd(width)}  ${cells.trimEnd()}`),
    `  ${counted(ids.length - rows.length, "requirement")} never failed`,
  ];
}

/**
 * Renders the history of the runs whose report.json is in a folder or below, the oldest first: a table for each target
 * and profile.
 * @throws CannotRun if there is none, or if a file with this name is not a report
 */
export function historyOf(folder: string): string {
  const reports = globSync("**/report.json", { cwd: folder }).map((name) => readReport(join(folder, name)));
  const hint = "Keep the report of each run in a folder of its own, such as with --report runs/$(date +%F-%H%M).";
  if (reports.length === 0) throw new CannotRun(`${folder} contains no report of certify. ${hint}`);
  const inTime = reports.toSorted((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const tables = [...Map.groupBy(inTime, subjectOf)].map(([subject, runs]) => tableOf(subject, runs));
  return [...tables.map((lines) => `${lines.map(oneLine).join("\n")}\n`), legend].join("\n");
}
