import { styleText } from "node:util";
import type { CheckResult, Report, RequirementResult, RunVerdict, Verdict } from "../results.ts";
import { oneLine, shortened, visible } from "./visible.ts";
import * as words from "./words.ts";

type Style = Parameters<typeof styleText>[0];

const checksShown = 3;
const curlsShown = 3;
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

function checkLines(check: CheckResult): string[] {
  const { exchanges, exchangesLeftOut = 0 } = check;
  const more = exchanges.length + exchangesLeftOut - curlsShown;
  return [
    field("check", oneLine(check.name)),
    field("expected", check.expected),
    field("received", check.actual),
    ...exchanges.slice(0, curlsShown).map(({ curl }) => field("repeat", curl)),
    ...(more > 0 ? [field("", `and ${words.counted(more, "more request")}, see the report`)] : []),
  ];
}

/** Renders a requirement with its source, and what its checks expected and received. */
function requirementLines(requirement: RequirementResult, paint: Paint): string[] {
  const [mark, style] = marks[requirement.verdict] ?? ["·", "dim"];
  const source = `${words.sourceOf(requirement)} ${words.titleOf(words.sourceOf(requirement))}`.trim();
  const checks = requirement.checks.filter(({ verdict }) => verdict === requirement.verdict);
  return [
    `${paint(style, mark)} ${paint("bold", oneLine(requirement.id))}  ${oneLine(source)}, ${words.levels[requirement.level]}`,
    field("", oneLine(requirement.text)).replace(/^ +/, "    "),
    ...(requirement.reason ? [field("reason", oneLine(requirement.reason.text))] : []),
    ...checks
      .slice(0, checksShown)
      .flatMap((check, index) => (index === 0 ? checkLines(check) : ["", ...checkLines(check)])),
    ...(checks.length > checksShown
      ? [`    and ${words.counted(checks.length - checksShown, "more check")}, see the report`]
      : []),
    "",
  ];
}

type Paint = (style: Style, text: string) => string;

/** Returns true if one reason, which is shown once, says all about the requirement. */
const isGrouped = ({ reason, checks }: RequirementResult) =>
  reason && (checks.length === 0 || reason.code === "stopped");

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
 * Renders the report for a terminal: the verdict, its reason, each failure in full, and the counts. Escape sequences
 * that the target sent are shown as text.
 * @param options.color true if the terminal supports colours
 */
export function renderTerminal(report: Report, options: { color: boolean }): string {
  const paint: Paint = (style, text) => (options.color ? styleText(style, text, { validateStream: false }) : text);
  const verdict = paint(runStyles[report.verdict], words.runVerdicts[report.verdict].toUpperCase());
  const failed = report.requirements.filter((requirement) => requirement.verdict === "fail");
  const troubled = report.requirements.filter(
    (each) => each.verdict === "warn" || (each.verdict === "could-not-run" && !isGrouped(each)),
  );
  const counts = words.verdictOrder
    .filter((each) => report.counts[each] > 0)
    .map((each) => `${report.counts[each]} ${words.verdicts[each].toLowerCase()}`);
  const unintended = report.created.filter((record) => record.unintended).length;
  const { payouts, maxPayouts } = report.budget;
  return [
    `${verdict}  ${oneLine(report.baseUrl)}, profile ${report.profile}, effects ${report.effects}`,
    visible(report.summary),
    ...report.errors
      .filter((error) => error !== report.summary)
      .map((error) => `${paint("yellow", "!")} ${visible(error)}`),
    ...(report.baselineProblems ?? []).map((problem) => `${paint("red", "✗")} ${visible(problem)}`),
    "",
    ...[...failed, ...troubled].flatMap((requirement) => requirementLines(requirement, paint)),
    ...(failed.length > 0
      ? [
          `Re-run these: ${oneLine(
            words.repeatCommand(
              report,
              failed.map(({ id }) => id),
            ),
          )}`,
        ]
      : []),
    ...notJudgedLines(report),
    `${counts.join(", ")}; made ${payouts} of ${words.counted(maxPayouts, "allowed payout")}`,
    ...(unintended > 0
      ? [paint("red", `The target created ${words.counted(unintended, "record")} that it must refuse`)]
      : []),
    "",
  ].join("\n");
}
