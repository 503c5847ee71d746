import type { Report, RequirementResult, RunVerdict } from "../results.ts";
import { causesOf } from "./causes.ts";
import { repeatFailures } from "./repeat.ts";
import { mustsPhrase, scopeLine, tallyPhrases } from "./scope.ts";
import { oneLine, shortened } from "./visible.ts";
import { counted, runVerdicts, sourceOf, verdicts, worstFirst } from "./words.ts";

const colours: Record<RunVerdict, string> = {
  certified: "brightgreen",
  "passed-partially": "blue",
  failed: "red",
  error: "orange",
  "no-contradiction": "blue",
  contradicted: "red",
};

/** Escapes a text that the target or the caller determines, so that Markdown and HTML show it as text on one line. */
const escaped = (text: string) =>
  oneLine(shortened(text, 300)).replaceAll(/[\\`*_{}[\]<>()#+!|~&$@]/g, String.raw`\$&`);

/** Returns a badge as one line of Markdown, such as "conformance | core: certified, 76 of 79 musts". */
function badge(report: Report): string {
  const message = `${report.profile}: ${runVerdicts[report.verdict].toLowerCase()}, ${mustsPhrase(report)}`;
  const path = `conformance-${encodeURIComponent(message)}-${colours[report.verdict]}`;
  return `![conformance: ${message}](https://img.shields.io/badge/${path})`;
}

/** Renders the row of a requirement in the table of all. */
const rowOf = ({ id, level, verdict, reason }: RequirementResult) =>
  `| \`${id}\` | ${level} | ${verdicts[verdict]} | ${escaped(reason?.text ?? "")} |`;

/** Renders the summary of a run in Markdown, for the page of a CI job and for a README. */
export function renderSummary(report: Report): string {
  const command = repeatFailures(report);
  const causes = causesOf(report).map(({ title, failures }) => {
    const [first] = failures;
    const ids = failures.map(({ requirement }) => `\`${requirement.id}\``).join(", ");
    const source = first === undefined ? "" : sourceOf(first.requirement);
    return `| ${escaped(title)} | ${ids} | ${escaped(source)} | ${escaped(first?.check.actual ?? "")} |`;
  });
  return [
    badge(report),
    "",
    `**${runVerdicts[report.verdict]}**: ${escaped(scopeLine(report))} · ${escaped(report.baseUrl)}`,
    "",
    escaped(report.summary),
    "",
    ...[...report.errors, ...(report.baselineProblems ?? [])].map((problem) => `- ${escaped(problem)}`),
    ...(causes.length > 0
      ? ["| cause | requirements | source | received |", "| --- | --- | --- | --- |", ...causes, ""]
      : []),
    ...(command === undefined ? [] : ["```sh", oneLine(command).replaceAll("`", "'"), "```", ""]),
    `${tallyPhrases(report).join("; ")}.`,
    "",
    `<details><summary>${counted(report.requirements.length, "requirement")}</summary>`,
    "",
    "| requirement | level | verdict | why |",
    "| --- | --- | --- | --- |",
    ...worstFirst(report.requirements).map(rowOf),
    "",
    "</details>",
    "",
  ].join("\n");
}
