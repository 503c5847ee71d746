import { styleText } from "node:util";
import {
  isSide,
  type CheckResult,
  type Report,
  type RequirementResult,
  type RunVerdict,
  type Verdict,
} from "../results.ts";
import { causesOf, firstRequest, type Cause, type Failure } from "./causes.ts";
import { repeatFailures, repeatOf } from "./repeat.ts";
import { completingCommand, lenientConditions, paidOf, scopeLine, signingText, tallyPhrases } from "./scope.ts";
import { oneLine, shortened, visible } from "./visible.ts";
import * as words from "./words.ts";

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

const longestText = 2_000;
const longestList = 400;
const mostCauseLines = 20;

const runStyles: Record<RunVerdict, Style> = {
  certified: ["green", "bold"],
  "passed-partially": ["blue", "bold"],
  failed: ["red", "bold"],
  error: ["yellow", "bold"],
  "no-contradiction": ["blue", "bold"],
  contradicted: ["red", "bold"],
};
const marks: Partial<Record<Verdict, [string, Style]>> = {
  fail: ["✗", "red"],
  "could-not-run": ["!", "yellow"],
  warn: ["~", "yellow"],
};

const listed = (ids: readonly string[]) => shortened(oneLine(ids.join(", ")), longestList);

/** Renders a label and a text, whose lines are indented; no line without a text. Control characters are escaped. */
function field(label: string, text: string | undefined): string[] {
  if (text === undefined) return [];
  const lines = visible(shortened(text, longestText)).split("\n");
  return lines.map((line, index) => `    ${(index === 0 ? label : "").padEnd(10)}${line}`);
}

/** Renders a label and a text on one line; no line without a text. */
const line = (label: string, text: string | undefined) => (text === undefined ? [] : [`${label}${oneLine(text)}`]);

/** Counts the other checks that have the requirement's verdict, and names the checks that can be repeated alone. */
function othersOf({ checks, verdict }: RequirementResult, shown: CheckResult): string {
  const others = checks.filter((check) => check !== shown && check.verdict === verdict);
  if (others.length === 0) return "";
  const ids = others.flatMap(({ selectFlags = [] }) => selectFlags.at(-1) ?? []);
  return `, and ${words.counted(others.length, "more check")}${ids.length > 0 ? `: ${listed(ids)}` : ""}`;
}

/** Renders a requirement with its source, and what the first of its failed checks expected and received. */
function failureLines(report: Report, { requirement, check }: Failure, paint: Paint, cause?: string): string[] {
  const { id, text, level, verdict, matters, fix, reason } = requirement;
  const [mark, style] = marks[verdict] ?? ["·", "dim"];
  return [
    `${paint(style, mark)} ${paint("bold", oneLine(id))}  ${oneLine(words.sourceOf(requirement))}, ${words.levels[level]}`,
    `    ${oneLine(text)}`,
    ...field("reason", verdict === "fail" ? undefined : reason?.text),
    ...field("why", matters),
    ...field("check", oneLine(check.name) + othersOf(requirement, check)),
    ...field("request", firstRequest(check)),
    ...field("expected", check.expected),
    ...field("received", check.actual),
    ...field("likely", cause === text ? undefined : cause),
    ...field("fix", fix),
    ...field("repeat", repeatOf(report, requirement, check)),
  ];
}

/** Renders the requirements that fail for one cause: the most urgent requirement in full, the others by id. */
function causeLines(report: Report, { title, failures }: Cause, paint: Paint): string[] {
  const [first, ...others] = failures;
  if (!first) return [];
  if (others.length === 0) return [...failureLines(report, first, paint, title), ""];
  return [
    `${paint("bold", `${failures.length} requirements, one cause:`)} ${oneLine(title)}`,
    ...failureLines(report, first, paint),
    ...field("also", listed(others.map(({ requirement }) => requirement.id))),
    "",
  ];
}

/** Renders the requirements of which no check ran, or whose checks were stopped, grouped by reason. */
function notJudgedLines({ requirements, summary, watched }: Report): string[] {
  const unstarted = requirements.filter(
    ({ reason, checks }) => reason && (checks.length === 0 || reason.code === "stopped"),
  );
  return [...Map.groupBy(unstarted, ({ reason }) => reason!.text)].map(
    ([why, members]) =>
      `Not ${watched ? "seen" : "judged"} (${members.length}): ${listed(members.map(({ id }) => id))}\n` +
      `    ${why === summary ? words.whyNotJudged.stopped : oneLine(why)}`,
  );
}

/**
 * Renders the failures by cause. The output of a run against a program is often read in the log of a build, so it has at
 * most 40 lines if it is not a terminal: it names the requirements of the causes that do not fit.
 */
function allCauseLines(report: Report, paint: Paint, isShort: boolean): string[] {
  const lines: string[] = [];
  const omitted: string[] = [];
  for (const cause of causesOf(report)) {
    const next = causeLines(report, cause, paint);
    if (!isShort || (omitted.length === 0 && lines.length + next.length <= mostCauseLines)) lines.push(...next);
    else omitted.push(...cause.failures.map(({ requirement }) => requirement.id));
  }
  return [...lines, ...(omitted.length > 0 ? [`Also (see report.html): ${listed(omitted)}`, ""] : [])];
}

const judgement = (faults: readonly string[]) => faults.join(", ") || "valid";

/** Describes the responses about which Prism and the suite disagree; no lines if the run did not use Prism. */
function secondOpinionLines({ secondOpinion }: Report): string[] {
  if (!secondOpinion) return [];
  const { answers, disagreements } = secondOpinion;
  const shown = disagreements.slice(0, 5).map(({ exchange: { method, url, status }, suite, prism }) => {
    return `  ${method} ${url} → ${status}: suite: ${judgement(suite)}; Prism: ${judgement(prism)}`;
  });
  const about = `about ${disagreements.length} of them.`;
  return [`Prism validated ${answers} responses and disagrees with the suite ${about}`, ...shown.map(oneLine)];
}

/**
 * Renders the report for a terminal: the verdict, its reason, the failures by cause, and the counts. Escape sequences
 * that the target sent are shown as text.
 * @param options.color true if the output is a terminal
 */
export function renderTerminal(report: Report, options: { color: boolean }): string {
  const paint: Paint = (style, text) => (options.color ? styleText(style, text, { validateStream: false }) : text);
  const {
    verdict,
    summary,
    errors,
    baselineProblems = [],
    created,
    observed,
    budget,
    profile,
    effects,
    watched,
  } = report;
  const unintended = created.filter((record) => record.unintended).length;
  const paid = `${words.sums(paidOf(created))} in ${budget.payouts} of ${words.counted(budget.maxPayouts, "allowed payout")}`;
  return [
    `${paint(runStyles[verdict], words.runVerdicts[verdict].toUpperCase())}  ${oneLine(scopeLine(report))} · ${oneLine(report.baseUrl)}`,
    visible(summary),
    ...errors.filter((error) => error !== summary).map((error) => `${paint("yellow", "!")} ${visible(error)}`),
    ...baselineProblems.map((problem) => `${paint("red", "✗")} ${visible(problem)}`),
    "",
    ...allCauseLines(report, paint, isSide(profile) && !options.color),
    ...line("Re-run these: ", repeatFailures(report)),
    ...notJudgedLines(report),
    ...line("To judge the rest: ", completingCommand(report)),
    ...line(
      watched ? "Limits of this watch: " : "Lenient conditions: ",
      lenientConditions(report).join("; ") || undefined,
    ),
    tallyPhrases(report).join("; "),
    // The payouts of a merchant's program are simulated.
    ...line("Paid ", isSide(profile) || (effects !== "money" && created.length === 0) ? undefined : paid),
    ...line(
      "Webhooks: ",
      observed.some(({ requirement }) => requirement === "webhook.headers") ? signingText(report) : undefined,
    ),
    ...line("Dredd judged ", words.dreddText(report)),
    ...secondOpinionLines(report),
    ...(unintended > 0
      ? [paint("red", `The target created ${words.counted(unintended, "record")} that it must refuse`)]
      : []),
    "",
  ].join("\n");
}
