import { isTroubled, type Report } from "../results.ts";
import { causesOf, firstRequest } from "./causes.ts";
import { repeatOf } from "./repeat.ts";
import { paidOf, tallyOf } from "./tally.ts";

/**
 * Renders report.json: the results, and what the other files derive from the results. This is the counts by level, the
 * sums paid by currency, and the causes of failures in the order in which to fix them. For each failed check it is also
 * the command that repeats the check.
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
