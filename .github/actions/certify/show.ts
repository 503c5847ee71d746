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

type Annotation = { level?: "error" | "warning"; title?: string; lines: (string | undefined)[] };

function annotationsOf(report: Report): Annotation[] {
  const causes = causesOf(report).map(({ title, failures: [first, ...others] }): Annotation => {
    const { requirement, check } = first!;
    const request = firstRequest(check);
    return {
      level: requirement.verdict === "warn" ? "warning" : "error",
      title: requirement.id + (others.length > 0 ? ` and ${others.length} more` : ""),
      lines: [title, `Expected: ${check.expected}`, `Received: ${check.actual}`, request && `Request: ${request}`],
    };
  });
  const problems = [...report.errors, ...(report.baselineProblems ?? []), report.falseDeclaration ?? []].flat();
  return [...problems.map((problem) => ({ lines: [problem] })), ...causes];
}

/** Escapes a text as the runner asks for in its commands. */
const escaped = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

/** Writes an annotation as a command of the runner. */
function command({ level = "error", title = "certify", lines }: Annotation): string {
  const shown = lines.flatMap((line) => (line === undefined ? [] : visible(shortened(line, longestText))));
  return `::${level} title=${escaped(title).replaceAll(":", "%3A").replaceAll(",", "%2C")}::${escaped(shown.join("\n"))}`;
}

const [folder = "", log = ""] = process.argv.slice(2);
const isReported = existsSync(join(folder, "report.json"));
const complaint = readFileSync(log, "utf8").trim() || "The run ended without a report: see the log of the step.";
const annotations = isReported ? annotationsOf(readReport(join(folder, "report.json"))) : [{ lines: [complaint] }];
const summary = isReported
  ? readFileSync(join(folder, "summary.md"), "utf8")
  : `**Not judged**\n\n\`\`\`\n${visible(complaint).replaceAll("`", "'")}\n\`\`\`\n`;
for (const annotation of annotations.slice(0, mostAnnotations)) console.log(command(annotation));
appendFileSync(process.env["GITHUB_STEP_SUMMARY"]!, `${summary}\n`);
