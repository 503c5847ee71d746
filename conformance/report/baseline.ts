import { LineCounter, parseDocument } from "yaml";
import type { Report, RequirementResult } from "../results.ts";
import { counted } from "./words.ts";

/** A failure that is tolerated until the end of the day `expires` ("2026-12-31", UTC). */
export type KnownFailure = {
  id: string;
  /** The names of the checks that are known to fail; undefined covers every check of the requirement. */
  checks?: string[];
  reason: string;
  expires: string;
};

/** Thrown for an invalid file of known failures. `problems` lists everything that must be fixed. */
export class BaselineError extends Error {
  readonly problems: string[];
  constructor(problems: string[]) {
    super(problems.join("\n"));
    this.name = "BaselineError";
    this.problems = problems;
  }
}

const fields = new Set(["id", "checks", "reason", "expires"]);
const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

function isDay(value: unknown): value is string {
  if (typeof value !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const day = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value);
}

/** Describes the problems of one entry. */
function problemsOf(entry: unknown, ids: ReadonlySet<string>): string[] {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    return ["must be a mapping with id, reason and expires"];
  }
  const { id, checks, reason, expires } = entry as Record<string, unknown>;
  const problems = Object.keys(entry)
    .filter((key) => !fields.has(key))
    .map((key) => `unknown field "${key}"; the fields are id, reason, expires and optionally checks`);
  if (!isText(id)) problems.push("id is missing: name the requirement that fails");
  else if (!ids.has(id)) problems.push(`there is no requirement "${id}"`);
  if (!isText(reason)) problems.push("reason is missing: say why the failure is tolerated");
  if (!isDay(expires)) problems.push('expires must be a day such as "2026-12-31"');
  if (checks !== undefined && !(Array.isArray(checks) && checks.length > 0 && checks.every(isText))) {
    problems.push("checks must be a list of check names, or be omitted");
  }
  return problems;
}

/**
 * Reads a YAML list of known failures.
 * @param ids the ids of all requirements, including the requirements that the run does not judge
 * @throws BaselineError that lists everything that is wrong with the file
 */
export function readBaseline(text: string, ids: Iterable<string>): KnownFailure[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true });
  if (document.errors.length > 0) throw new BaselineError(document.errors.map(({ message }) => message.trim()));
  const entries: unknown = document.toJS({ maxAliasCount: 0 }) ?? [];
  if (!Array.isArray(entries)) {
    throw new BaselineError(["The file must be a list of entries, each with id, reason and expires."]);
  }
  const known = new Set(ids);
  const problems = entries.flatMap((entry, index) =>
    problemsOf(entry, known).map((problem) => `Entry ${index + 1}${nameOf(entry)}: ${problem}.`),
  );
  const repeated = entries.map((entry) => entry?.id).filter((id, index, all) => isText(id) && all.indexOf(id) < index);
  problems.push(
    ...new Set(repeated.map((id) => `"${id}" is listed more than once. Use one entry with all its checks.`)),
  );
  if (problems.length > 0) throw new BaselineError(problems);
  return entries as KnownFailure[];
}

function nameOf(entry: unknown): string {
  const id = (entry as { id?: unknown } | null)?.id;
  return isText(id) ? ` (${id})` : "";
}

/** Returns the time at which an entry expires, which is the end of its last day. */
const end = ({ expires }: KnownFailure) => Date.parse(`${expires}T00:00:00Z`) + 86_400_000;

/**
 * Returns true if the run judged the requirement. Without such a result, it is unknown whether the entry's known
 * failure still exists.
 */
const wasJudged = ({ verdict }: RequirementResult) => verdict !== "not-applicable" && verdict !== "could-not-run";

function problemWith(entry: KnownFailure, result: RequirementResult | undefined, now: Date): string | undefined {
  if (now.getTime() >= end(entry)) {
    return `${entry.id}: the entry expired on ${entry.expires}. Fix the failure, or extend the entry after a review.`;
  }
  if (!result || !wasJudged(result)) return undefined;
  if (result.verdict !== "fail") return `${entry.id}: no longer fails. Remove the entry.`;
  const failing = new Set(result.checks.filter(({ verdict }) => verdict === "fail").map(({ name }) => name));
  const passing = (entry.checks ?? []).filter((name) => !failing.has(name));
  if (passing.length === 0) return undefined;
  return `${entry.id}: ${passing.map((name) => `"${name}"`).join(", ")} no longer fails. Remove it from the entry.`;
}

/** Returns true if the entry covers every failing check of the requirement. */
function covers(entry: KnownFailure, { checks }: RequirementResult): boolean {
  return checks.every(({ name, verdict }) => verdict !== "fail" || !entry.checks || entry.checks.includes(name));
}

function tolerated(result: RequirementResult, entry: KnownFailure | undefined, now: Date): RequirementResult {
  if (!entry || result.verdict !== "fail" || now.getTime() >= end(entry) || !covers(entry, result)) return result;
  return { ...result, verdict: "warn", knownFailure: { reason: entry.reason, expires: entry.expires } };
}

/**
 * Turns known failures into warnings with their reason and last day. The best verdict on a run with a known failure is
 * `passed-partially`, never `certified`. An entry that has expired, or whose failure no longer occurs, is a problem.
 * Any problem fails the run.
 * @returns the adjusted report, and the problems, which the report also contains as `baselineProblems`
 */
export function applyBaseline(
  report: Report,
  baseline: readonly KnownFailure[],
  now: Date,
): { report: Report; problems: string[] } {
  const entries = new Map(baseline.map((entry) => [entry.id, entry]));
  const results = new Map(report.requirements.map((result) => [result.id, result]));
  const problems = baseline
    .map((entry) => problemWith(entry, results.get(entry.id), now))
    .filter((text) => text !== undefined);
  const requirements = report.requirements.map((result) => tolerated(result, entries.get(result.id), now));
  const known = requirements.filter(({ knownFailure }) => knownFailure).length;
  const adjusted = {
    ...report,
    requirements,
    counts: { ...report.counts, fail: report.counts.fail - known, warn: report.counts.warn + known },
    ...(problems.length > 0 ? { baselineProblems: problems } : {}),
  };
  return { report: { ...adjusted, ...verdictWithBaseline(adjusted, known) }, problems };
}

/**
 * Returns the verdict and summary of a report whose known failures were tolerated.
 * @param known the number of these failures
 */
function verdictWithBaseline(report: Report, known: number): Pick<Report, "verdict" | "summary"> {
  if (report.baselineProblems) {
    const summary = `The list of known failures is out of date (${counted(report.baselineProblems.length, "problem")}).`;
    return { verdict: "failed", summary: report.verdict === "failed" ? `${report.summary} ${summary}` : summary };
  }
  if (known === 0) return report;
  const summary = `${counted(known, "known failure")} tolerated for now`;
  if (report.counts.fail > 0) {
    return { verdict: "failed", summary: `${counted(report.counts.fail, "requirement")} failed; ${summary}.` };
  }
  if (report.falseDeclaration !== undefined) return { verdict: "failed", summary: `${report.summary} ${summary}.` };
  const unfinished = report.errors.length > 0 || report.counts["could-not-run"] > 0;
  if (unfinished) return { verdict: "error", summary: `Part of the run could not be judged; ${summary}.` };
  return { verdict: "passed-partially", summary: `Nothing else failed; ${summary}.` };
}
