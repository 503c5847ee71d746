// Shows a run on GitHub: an annotation for each cause of a failure, and the job's summary. Arguments: the folder of the
// report, and a file with what the run complained about.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { causesOf, firstRequest } from "../../../conformance/report/causes.ts";
import { readReport } from "../../../conformance/report/json.ts";
import { shortened, visible } from "../../../conformance/report/visible.ts";
import type { Report } from "../../../conformance/results.ts";

/** GitHub shows so many errors of a step. */
const mostAnnotations = 10;
/** A longer message hides the others on the page. */
const longestText = 500;

/** Escapes a text as the runner asks for in its commands. */
const escaped = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

/** Returns an annotation as a command of the runner. */
function annotation(lines: readonly string[], title = "certify", level = "error"): string {
  const text = lines.map((line) => visible(shortened(line, longestText))).join("\n");
  return `::${level} title=${escaped(title).replaceAll(":", "%3A").replaceAll(",", "%2C")}::${escaped(text)}`;
}

function annotationsOf(report: Report): string[] {
  const problems = [...report.errors, ...(report.baselineProblems ?? []), report.falseDeclaration ?? []].flat();
  const causes = causesOf(report).map(({ title, failures: [first, ...others] }) => {
    const { requirement, check } = first!;
    const lines = [title, `Expected: ${check.expected}`, `Received: ${check.actual}`];
    const request = firstRequest(check);
    if (request !== undefined) lines.push(`Request: ${request}`);
    const ids = requirement.id + (others.length > 0 ? ` and ${others.length} more` : "");
    return annotation(lines, ids, requirement.verdict === "warn" ? "warning" : "error");
  });
  return [...problems.map((problem) => annotation([problem])), ...causes];
}

const [folder = "", log = ""] = process.argv.slice(2);
const isReported = existsSync(join(folder, "report.json"));
const complaint = readFileSync(log, "utf8").trim() || "The run ended without a report: see the log of the step.";
const annotations = isReported ? annotationsOf(readReport(join(folder, "report.json"))) : [annotation([complaint])];
const summary = isReported
  ? readFileSync(join(folder, "summary.md"), "utf8")
  : `**Not judged**\n\n\`\`\`\n${visible(complaint).replaceAll("`", "'")}\n\`\`\`\n`;
for (const each of annotations.slice(0, mostAnnotations)) console.log(each);
appendFileSync(process.env["GITHUB_STEP_SUMMARY"]!, `${summary}\n`);
