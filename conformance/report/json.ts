import { readFileSync } from "node:fs";
import { CannotRun, isTroubled, type CheckResult, type Report } from "../results.ts";
import { causesOf, firstRequest } from "./causes.ts";
import { repeatOf } from "./repeat.ts";
import { paidOf, tallyOf } from "./scope.ts";
import { shortened } from "./visible.ts";

/** How many exchanges of a check are kept, and how many characters of each body. */
const limits = { troubled: { exchanges: 8, body: 2000 }, other: { exchanges: 1, body: 500 } };

function withoutOthers(check: CheckResult): CheckResult {
  const { exchanges, shownBy, contradictedBy, exchangesLeftOut = 0 } = check;
  const limit = limits[isTroubled(check) ? "troubled" : "other"];
  const kept = exchanges.filter(({ id }, index) => index < limit.exchanges || id === shownBy || id === contradictedBy);
  const omitted = exchangesLeftOut + exchanges.length - kept.length;
  const cut = (body: string | undefined) => body && shortened(body, limit.body);
  return {
    ...check,
    exchanges: kept.map(({ requestBody, responseBody, ...exchange }) => {
      return { ...exchange, requestBody: cut(requestBody), responseBody: cut(responseBody) };
    }),
    exchangesLeftOut: omitted > 0 ? omitted : undefined,
  };
}

/** Returns the report with the evidence that a reader needs: more for checks that need attention than for others. */
export const withoutExcess = (report: Report): Report => ({
  ...report,
  requirements: report.requirements.map((requirement) => ({
    ...requirement,
    checks: requirement.checks.map(withoutOthers),
  })),
});

/**
 * Renders report.json: the results, and what the other files derive from them. These are the counts by level, the sums
 * paid by currency, the causes of failures in the order in which to fix them, and the commands that repeat checks.
 */
export function renderJson(report: Report): string {
  const requirements = report.requirements.map((requirement) => ({
    ...requirement,
    checks: requirement.checks.map((check) =>
      isTroubled(check) ? { ...check, repeat: repeatOf(report, requirement, check) } : check,
    ),
  }));
  const causes = causesOf(report).map(({ title, failures }) => ({
    title,
    request: failures[0] && firstRequest(failures[0].check),
    requirements: failures.map(({ requirement }) => requirement.id),
  }));
  const derived = { levels: tallyOf(report), paid: paidOf(report.created), causes };
  return `${JSON.stringify({ ...report, ...derived, requirements }, null, 2)}\n`;
}

/**
 * Reads a report.json.
 * @throws CannotRun if the file cannot be read or is not a report
 */
export function readReport(file: string): Report {
  try {
    const report = JSON.parse(readFileSync(file, "utf8")) as Partial<Report>;
    if (Array.isArray(report.requirements) && Array.isArray(report.observed)) return report as Report;
  } catch (error) {
    throw new CannotRun(`${file} is not a readable report: ${(error as Error).message}`, { cause: error });
  }
  throw new CannotRun(`${file} is not a report of certify.`);
}
