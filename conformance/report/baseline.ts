import { Ajv, type ErrorObject } from "ajv";
import { parseDocument } from "yaml";
import { CannotRun, type Report, type RequirementResult } from "../results.ts";
import { counted } from "./words.ts";

/** A failure that is tolerated until the end of the day `expires` ("2026-12-31", UTC). */
export type KnownFailure = {
  id: string;
  /** The names of the checks that are known to fail; undefined covers every check of the requirement. */
  checks?: string[];
  reason: string;
  expires: string;
};

const dayMs = 86_400_000;
const isDay = (text: string) => {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString() === `${text}T00:00:00.000Z`;
};

/** Returns the schema of the file. `ids` are those of all requirements, also of those that the run does not judge. */
const schemaFor = (ids: readonly string[]) => ({
  type: "array",
  items: {
    type: "object",
    required: ["id", "reason", "expires"],
    additionalProperties: false,
    properties: {
      id: { enum: ids },
      checks: { type: "array", minItems: 1, items: { type: "string" } },
      reason: { type: "string", pattern: String.raw`\S` },
      expires: { type: "string", format: "day" },
    },
  },
});

function problemOf({ keyword, instancePath, message, params }: ErrorObject, entries: unknown): string {
  const [, index, ...path] = instancePath.split("/");
  if (index === undefined) return "The file must be a list of entries, each with id, reason and expires.";
  const { id } = ((entries as unknown[])[Number(index)] ?? {}) as { id?: unknown };
  const place = [`Entry ${Number(index) + 1}${typeof id === "string" ? ` (${id})` : ""}`, ...path].join(" ");
  if (keyword === "enum") return `${place}: there is no such requirement.`;
  if (keyword === "format") return `${place} must be a day such as "2026-12-31".`;
  const extra: unknown = params["additionalProperty"];
  return `${place} ${message}${typeof extra === "string" ? `: ${extra}` : ""}.`;
}

/**
 * Reads a YAML list of known failures.
 * @param ids the ids of all requirements, including the requirements that the run does not judge
 * @throws CannotRun that lists everything that is wrong with the file, one line each
 */
export function readBaseline(text: string, ids: readonly string[]): KnownFailure[] {
  const document = parseDocument(text);
  if (document.errors.length > 0) throw new CannotRun(document.errors.map(({ message }) => message.trim()).join("\n"));
  const entries: unknown = document.toJS({ maxAliasCount: 0 }) ?? [];
  const ajv = new Ajv({ allErrors: true, formats: { day: isDay } });
  if (!ajv.validate<KnownFailure[]>(schemaFor(ids), entries)) {
    throw new CannotRun((ajv.errors ?? []).map((error) => problemOf(error, entries)).join("\n"));
  }
  const repeated = entries.map(({ id }) => id).filter((id, index, all) => all.indexOf(id) < index);
  if (repeated.length > 0) throw new CannotRun(`${repeated.join(", ")}: use one entry with all its checks.`);
  return entries;
}

/** An entry expires at the end of its last day. */
const hasExpired = ({ expires }: KnownFailure, now: Date) =>
  now.getTime() >= Date.parse(`${expires}T00:00:00Z`) + dayMs;

const failingChecks = ({ checks }: RequirementResult) =>
  checks.filter(({ verdict }) => verdict === "fail").map(({ name }) => name);

/** Says why an entry is out of date. If the requirement was not judged, its known failure may still exist. */
function problemWith(entry: KnownFailure, result: RequirementResult | undefined, now: Date): string | undefined {
  if (hasExpired(entry, now)) {
    return `${entry.id}: the entry expired on ${entry.expires}. Fix the failure, or extend the entry after a review.`;
  }
  if (!result || result.verdict === "not-applicable" || result.verdict === "could-not-run") return undefined;
  if (result.verdict !== "fail") return `${entry.id}: no longer fails. Remove the entry.`;
  const failing = failingChecks(result);
  const passing = (entry.checks ?? []).filter((name) => !failing.includes(name));
  if (passing.length === 0) return undefined;
  return `${entry.id}: ${passing.map((name) => `"${name}"`).join(", ")} no longer fails. Remove it from the entry.`;
}

/** Returns the result as a warning if the entry covers every failing check of the requirement. */
function tolerated(result: RequirementResult, entry: KnownFailure | undefined, now: Date): RequirementResult {
  if (!entry || result.verdict !== "fail" || hasExpired(entry, now)) return result;
  if (failingChecks(result).some((name) => entry.checks?.includes(name) === false)) return result;
  return { ...result, verdict: "warn", knownFailure: { reason: entry.reason, expires: entry.expires } };
}

/**
 * Turns known failures into warnings with their reason and last day. The best verdict on a run with a known failure is
 * `passed-partially`, never `certified`. An entry that has expired, or whose failure no longer occurs, is a problem.
 * Any problem fails the run.
 */
export function applyBaseline(report: Report, baseline: readonly KnownFailure[], now: Date): Report {
  const entries = new Map(baseline.map((entry) => [entry.id, entry]));
  const results = new Map(report.requirements.map((result) => [result.id, result]));
  const problems = baseline.flatMap((entry) => problemWith(entry, results.get(entry.id), now) ?? []);
  const requirements = report.requirements.map((result) => tolerated(result, entries.get(result.id), now));
  const known = requirements.filter(({ knownFailure }) => knownFailure).length;
  const adjusted = {
    ...report,
    requirements,
    counts: { ...report.counts, fail: report.counts.fail - known, warn: report.counts.warn + known },
    ...(problems.length > 0 ? { baselineProblems: problems } : {}),
  };
  return { ...adjusted, ...verdictWithBaseline(adjusted, known) };
}

/**
 * Returns the verdict and summary of a report whose known failures were tolerated.
 * @param known the number of these failures
 */
function verdictWithBaseline(report: Report, known: number): Pick<Report, "verdict" | "summary"> {
  const { counts, errors, baselineProblems, falseDeclaration, summary } = report;
  if (baselineProblems) {
    const outdated = `The list of known failures is out of date (${counted(baselineProblems.length, "problem")}).`;
    return { verdict: "failed", summary: report.verdict === "failed" ? `${summary} ${outdated}` : outdated };
  }
  if (known === 0) return report;
  const also = `${counted(known, "known failure")} tolerated for now.`;
  if (counts.fail > 0) return { verdict: "failed", summary: `${counted(counts.fail, "requirement")} failed; ${also}` };
  if (falseDeclaration !== undefined) return { verdict: "failed", summary: `${summary} ${also}` };
  if (errors.length > 0 || counts["could-not-run"] > 0)
    return { verdict: "error", summary: `Part of the run could not be judged; ${also}` };
  return { verdict: "passed-partially", summary: `Nothing else failed; ${also}` };
}
