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
import { paidOf, tallyPhrases } from "./tally.ts";
import { completingCommand, followedFor, scopeLine } from "./scope.ts";
import { oneLine, shortened, visible } from "./visible.ts";
import * as words from "./words.ts";

type Style = Parameters<typeof styleText>[0];

const longestText = 2_000;
const longestList = 400;

const runStyles: Record<RunVerdict, Style> = {
  certified: ["green", "bold"],
  "passed-partially": ["blue", "bold"],
  failed: ["red", "bold"],
  error: ["yellow", "bold"],
};
const marks: Partial<Record<Verdict, [string, Style]>> = {
  fail: ["✗", "red"],
  "could-not-run": ["!", "yellow"],
  warn: ["~", "yellow"],
};

/** Renders a label and a text, whose lines are indented. Terminal control characters are escaped. */
function field(label: string, text: string): string {
  const [first = "", ...rest] = visible(shortened(text, longestText)).split("\n");
  return [`    ${label.padEnd(10)}${first}`, ...rest.map((line) => " ".repeat(14) + line)].join("\n");
}

/** Counts the other checks that have the requirement's verdict, and names the checks that can be repeated alone. */
function othersOf({ checks, verdict }: RequirementResult, shown: CheckResult): string {
  const others = checks.filter((check) => check !== shown && check.verdict === verdict);
  if (others.length === 0) return "";
  const ids = others.flatMap(({ selectFlags = [] }) => selectFlags.at(-1) ?? []);
  const named = ids.length > 0 ? `: ${shortened(oneLine(ids.join(", ")), longestList)}` : "";
  return `, and ${words.counted(others.length, "more check")}${named}`;
}

/** Renders a requirement with its source, and what the first of its failed checks expected and received. */
function failureLines(report: Report, { requirement, check }: Failure, paint: Paint, cause?: string): string[] {
  const [mark, style] = marks[requirement.verdict] ?? ["·", "dim"];
  const source = words.sourceOf(requirement);
  const request = firstRequest(check);
  return [
    `${paint(style, mark)} ${paint("bold", oneLine(requirement.id))}  ${oneLine(source)}, ${words.levels[requirement.level]}`,
    field("", oneLine(requirement.text)).replace(/^ +/, "    "),
    ...(requirement.reason && requirement.verdict !== "fail"
      ? [field("reason", oneLine(requirement.reason.text))]
      : []),
    ...(requirement.matters === undefined ? [] : [field("why", oneLine(requirement.matters))]),
    field("check", oneLine(check.name) + othersOf(requirement, check)),
    ...(request === undefined ? [] : [field("request", oneLine(request))]),
    field("expected", check.expected),
    field("received", check.actual),
    ...(cause === undefined || cause === requirement.text ? [] : [field("likely", oneLine(cause))]),
    field("repeat", repeatOf(report, requirement, check)),
  ];
}

/** Renders the requirements that fail for one cause: the most urgent requirement in full, the others by id. */
function causeLines(report: Report, { title, failures }: Cause, paint: Paint): string[] {
  const [first, ...others] = failures;
  if (!first) return [];
  if (others.length === 0) return [...failureLines(report, first, paint, title), ""];
  const ids = others.map(({ requirement }) => oneLine(requirement.id)).join(", ");
  return [
    `${paint("bold", `${failures.length} requirements, one cause:`)} ${oneLine(title)}`,
    ...failureLines(report, first, paint),
    field("also", shortened(ids, longestList)),
    "",
  ];
}

/** Renders the most urgent causes that fit into `mostLines`, and names the requirements of the other causes. */
function allCauseLines(report: Report, paint: Paint, mostLines = Infinity): string[] {
  const lines: string[] = [];
  const left: string[] = [];
  for (const cause of causesOf(report)) {
    const next = causeLines(report, cause, paint).flatMap((line) => line.split("\n"));
    if (left.length === 0 && lines.length + next.length <= mostLines) lines.push(...next);
    else left.push(...cause.failures.map(({ requirement }) => oneLine(requirement.id)));
  }
  return left.length === 0 ? lines : [...lines, `Also (see report.html): ${left.join(", ")}`, ""];
}

type Paint = (style: Style, text: string) => string;

/** Returns true if one reason, which is shown once, says all about the requirement. */
const isGrouped = ({ reason, checks }: RequirementResult) =>
  reason && (checks.length === 0 || reason.code === "stopped");

/** Says what the run paid; no line for a merchant's program, whose payouts are simulated. */
function paidLines({ profile, created, budget }: Report): string[] {
  if (isSide(profile)) return [];
  const allowed = words.counted(budget.maxPayouts, "allowed payout");
  return [`Paid ${oneLine(words.sums(paidOf(created)))} in ${budget.payouts} of ${allowed}`];
}

/** Renders the requirements that were not judged, grouped by reason. */
function notJudgedLines({ requirements, summary }: Report): string[] {
  const unstarted = requirements.filter(isGrouped);
  const groups = Map.groupBy(unstarted, ({ reason }) => reason!.text);
  return [...groups].map(([why, members]) => {
    const ids = shortened(members.map(({ id }) => oneLine(id)).join(", "), longestList);
    return `Not judged (${members.length}): ${ids}\n    ${why === summary ? words.whyNotJudged.stopped : oneLine(why)}`;
  });
}

/**
 * Renders the report for a terminal: the verdict, its reason, the failures by cause, and the counts. Escape sequences
 * that the target sent are shown as text.
 * @param options.color true if the terminal supports colours
 * @param options.mostLines the number of lines for causes; the others are named by the ids of their requirements
 */
export function renderTerminal(report: Report, options: { color: boolean; mostLines?: number }): string {
  const paint: Paint = (style, text) => (options.color ? styleText(style, text, { validateStream: false }) : text);
  const verdict = paint(runStyles[report.verdict], words.runVerdicts[report.verdict].toUpperCase());
  const dredd = words.dreddText(report);
  const completing = completingCommand(report);
  const unintended = report.created.filter((record) => record.unintended).length;
  return [
    `${verdict}  ${oneLine(scopeLine(report))} · ${oneLine(report.baseUrl)}`,
    visible(report.summary),
    ...report.errors
      .filter((error) => error !== report.summary)
      .map((error) => `${paint("yellow", "!")} ${visible(error)}`),
    ...(report.baselineProblems ?? []).map((problem) => `${paint("red", "✗")} ${visible(problem)}`),
    "",
    ...allCauseLines(report, paint, options.mostLines),
    ...(report.requirements.some((requirement) => requirement.verdict === "fail")
      ? [`Re-run these: ${oneLine(repeatFailures(report))}`]
      : []),
    ...notJudgedLines(report),
    ...(completing === undefined ? [] : [`To judge the rest: ${oneLine(completing)}`]),
    ...words.limitEntries(report).map(([label, text]) => `${label} limits of the target: ${oneLine(text)}`),
    ...(report.conditions.rate === null
      ? []
      : [`Rate: at most ${words.counted(report.conditions.rate, "request")} per second`]),
    `${tallyPhrases(report).join("; ")}`,
    ...paidLines(report),
    ...(dredd === undefined ? [] : [`Dredd judged ${oneLine(dredd)}`]),
    ...[followedFor(report) ?? []].flat(),
    ...(unintended > 0
      ? [paint("red", `The target created ${words.counted(unintended, "record")} that it must refuse`)]
      : []),
    "",
  ].join("\n");
}
