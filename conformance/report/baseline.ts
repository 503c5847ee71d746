import { Ajv, type ErrorObject } from "ajv";
import { parseDocument, stringify } from "yaml";
import { allRequirements } from "../contract/requirements.ts";
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

/** Known failures to tolerate, or `new`: write those of this run. */
export type Baseline = KnownFailure[] | "new";

const endOf = (day: string) => Date.parse(`${day}T23:59:59.999Z`);
const isDay = (text: string) => endOf(text) > 0 && new Date(endOf(text)).toISOString().startsWith(text);

/** The schema of the file. It allows all requirements, also those that the run does not judge. */
const schema = {
  type: "array",
  items: {
    type: "object",
    required: ["id", "reason", "expires"],
    additionalProperties: false,
    properties: {
      id: { enum: allRequirements.map(({ id }) => id) },
      checks: { type: "array", minItems: 1, items: { type: "string" } },
      reason: { type: "string", pattern: String.raw`\S` },
      expires: { type: "string", format: "day" },
    },
  },
};

function problemOf({ keyword, instancePath, message, params }: ErrorObject): string {
  const [, index, ...path] = instancePath.split("/");
  if (index === undefined) return "the file must be a list of entries, each with id, reason and expires.";
  const place = [`entry ${Number(index) + 1}`, ...path].join(" ");
  if (keyword === "enum") return `${place}: there is no such requirement.`;
  if (keyword === "pattern") return `${place}: say why this failure is tolerated.`;
  if (keyword === "format") return `${place} must be a day such as "2026-12-31".`;
  const extra: unknown = params["additionalProperty"];
  return `${place} ${message}${typeof extra === "string" ? `: ${extra}` : ""}.`;
}

/**
 * Reads a YAML list of known failures.
 * @throws CannotRun that lists everything that is wrong with the file, one line each
 */
export function readBaseline(text: string): KnownFailure[] {
  const document = parseDocument(text);
  if (document.errors.length > 0) throw new CannotRun(document.errors.map(({ message }) => message.trim()).join("\n"));
  const entries: unknown = document.toJS({ maxAliasCount: 0 }) ?? [];
  const ajv = new Ajv({ allErrors: true, formats: { day: isDay } });
  if (!ajv.validate<KnownFailure[]>(schema, entries)) throw new CannotRun((ajv.errors ?? []).map(problemOf).join("\n"));
  const repeated = entries.map(({ id }) => id).filter((id, index, all) => all.indexOf(id) < index);
  if (repeated.length > 0) throw new CannotRun(`${repeated.join(", ")}: use one entry with all its checks.`);
  return entries;
}

const failingChecks = ({ checks }: RequirementResult) =>
  checks.filter(({ verdict }) => verdict === "fail").map(({ name }) => name);

/**
 * Returns a list of the failures of a run, tolerated for 30 days. `readBaseline` reads it once each reason is filled in.
 * An entry names the failing checks if other checks of its requirement passed.
 */
export function newBaseline({ requirements }: Report, now: Date): string {
  const expires = new Date(now.getTime() + 30 * 86_400_000).toISOString().slice(0, 10);
  const entries = requirements
    .filter(({ verdict }) => verdict === "fail")
    .map((result) => {
      const checks = failingChecks(result);
      return { id: result.id, ...(checks.length < result.checks.length && { checks }), reason: "", expires };
    });
  return `# Say in each reason why the failure is tolerated until it expires.\n${stringify(entries)}`;
}

/** Says why an entry is out of date. If the requirement was not judged, its known failure may still exist. */
function problemWith({ id, checks, expires }: KnownFailure, result: RequirementResult | undefined, now: Date) {
  if (now.getTime() > endOf(expires))
    return `${id}: the entry expired on ${expires}. Fix the failure, or extend the entry after a review.`;
  if (!result || result.verdict === "not-applicable" || result.verdict === "could-not-run") return undefined;
  if (result.verdict !== "fail") return `${id}: no longer fails. Remove the entry.`;
  const failing = failingChecks(result);
  const passing = checks?.find((name) => !failing.includes(name));
  return passing === undefined ? undefined : `${id}: "${passing}" no longer fails. Remove it from the entry.`;
}

/** Returns the result as a warning if the entry covers every failing check of the requirement. */
function tolerated(result: RequirementResult, entry: KnownFailure | undefined, now: Date): RequirementResult {
  if (!entry || result.verdict !== "fail" || now.getTime() > endOf(entry.expires)) return result;
  if (failingChecks(result).some((name) => entry.checks?.includes(name) === false)) return result;
  return { ...result, verdict: "warn", knownFailure: { reason: entry.reason, expires: entry.expires } };
}

/**
 * Turns known failures into warnings with their reason and last day. The best verdict on a run with a known failure is
 * `passed-partially`, never `certified`. An entry that has expired, or whose failure no longer occurs, fails the run.
 */
export function applyBaseline(report: Report, baseline: Baseline = [], now: Date): Report {
  if (baseline === "new") return report;
  const entries = new Map(baseline.map((entry) => [entry.id, entry]));
  const results = new Map(report.requirements.map((result) => [result.id, result]));
  const problems = baseline.flatMap((entry) => problemWith(entry, results.get(entry.id), now) ?? []);
  const requirements = report.requirements.map((result) => tolerated(result, entries.get(result.id), now));
  const known = requirements.filter(({ knownFailure }) => knownFailure).length;
  const counts = { ...report.counts, fail: report.counts.fail - known, warn: report.counts.warn + known };
  const adjusted = { ...report, requirements, counts };
  if (problems.length > 0) {
    const outdated = `The list of known failures is out of date (${counted(problems.length, "problem")}).`;
    const summary = report.verdict === "failed" ? `${report.summary} ${outdated}` : outdated;
    return { ...adjusted, baselineProblems: problems, verdict: "failed", summary };
  }
  if (known === 0) return report;
  const suffix = `${counted(known, "known failure")} tolerated for now.`;
  if (report.falseDeclaration !== undefined) return { ...adjusted, summary: `${report.summary} ${suffix}` };
  if (counts.fail > 0)
    return { ...adjusted, verdict: "failed", summary: `${counted(counts.fail, "requirement")} failed; ${suffix}` };
  if (report.errors.length > 0 || counts["could-not-run"] > 0)
    return { ...adjusted, verdict: "error", summary: `Part of the run could not be judged; ${suffix}` };
  return { ...adjusted, verdict: "passed-partially", summary: `Nothing else failed; ${suffix}` };
}
