import type { CheckResult, Report, RequirementResult, Verdict } from "../results.ts";
import { causesOf, type Cause } from "./causes.ts";
import { repeatOf } from "./repeat.ts";
import { render } from "./templates.ts";
import { scopeLine } from "./scope.ts";
import { oneLine } from "./visible.ts";
import * as words from "./words.ts";

type Element = "failure" | "error" | "skipped" | "system-out";
/** A test case. Without an element it passed. */
type TestCase = {
  name: string;
  className: string;
  durationMs?: number;
  element?: Element;
  message?: string;
  text?: string;
};

const elements: Partial<Record<Verdict, Element>> = {
  fail: "failure",
  "could-not-run": "error",
  "not-applicable": "skipped",
  warn: "system-out",
  observed: "system-out",
};

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3);

/** Renders the text of a failure: the requirement, what was expected and received, why it matters, how to repeat it. */
function evidence(report: Report, requirement: RequirementResult, check: CheckResult): string {
  const repeat = repeatOf(report, requirement, check);
  return [
    `Requirement: ${requirement.text} (${words.sourceOf(requirement)}, ${words.levels[requirement.level]})`,
    `Expected: ${check.expected}`,
    `Received: ${check.actual}`,
    ...(requirement.matters === undefined ? [] : [`Why it matters: ${requirement.matters}`]),
    ...(requirement.fix === undefined ? [] : [`How to fix it: ${requirement.fix}`]),
    ...(repeat === undefined ? [] : [`Repeat: ${repeat}`]),
  ].join("\n");
}

/** Returns the message of a check: what was received, with its cause. */
function messageOf({ text, knownFailure }: RequirementResult, check: CheckResult, cause?: Cause): string {
  if (knownFailure) return `Known failure until ${knownFailure.expires}: ${knownFailure.reason}`;
  if (check.verdict !== "fail" || !cause || cause.title === text) return check.actual;
  return `${check.actual} (${cause.title})`;
}

/** Returns the test case of a check. A known failure is skipped. */
function checkCase(report: Report, requirement: RequirementResult, check: CheckResult, cause?: Cause): TestCase {
  const { name, verdict, durationMs } = check;
  const base = { name, className: requirement.id, durationMs };
  const element = verdict === "fail" && requirement.knownFailure ? "skipped" : elements[verdict];
  if (element === undefined) return base;
  const text = evidence(report, requirement, check);
  if (element === "system-out") return { ...base, element, text: `${words.verdicts[verdict]}. ${text}` };
  return { ...base, element, message: messageOf(requirement, check, cause), text };
}

/** Returns the test cases of a requirement: one for each check, or one that says why no check was started. */
function casesOf(report: Report, requirement: RequirementResult, cause?: Cause): TestCase[] {
  const { id, text, verdict, reason, checks } = requirement;
  if (checks.length > 0) return checks.map((check) => checkCase(report, requirement, check, cause));
  const message = reason?.text ?? words.verdicts[verdict];
  return [{ name: text, className: id, element: elements[verdict] ?? "skipped", message, text }];
}

const problemCase = (name: string, element: Element) => (text: string) => {
  return { name, className: "certify", element, message: text, text };
};

/** Returns the test cases that fail because of the run itself. */
const problemCases = ({ errors, falseDeclaration, baselineProblems = [] }: Report): TestCase[] => [
  ...errors.map(problemCase("The suite runs without errors", "error")),
  ...baselineProblems.map(problemCase("The list of known failures is up to date", "failure")),
  ...[falseDeclaration ?? []].flat().map(problemCase("The declared limits are those of the target", "failure")),
];

/** Counts test cases, for the attributes of a suite and of the whole report. */
function totalsOf(cases: readonly TestCase[]) {
  const count = (element: Element) => cases.filter((each) => each.element === element).length;
  return { tests: cases.length, failures: count("failure"), errors: count("error"), skipped: count("skipped") };
}

/**
 * Renders the report as JUnit XML, with a test suite for each topic and a test case for each check.
 * Failed checks are failures. Checks that could not run, and errors of the suite, are errors. Requirements that are not
 * applicable are skipped.
 */
export function renderJunit(report: Report): string {
  const causes = new Map(
    causesOf(report).flatMap((cause) => cause.failures.map(({ requirement }) => [requirement.id, cause] as const)),
  );
  const topics = [...Map.groupBy(report.requirements, words.topicOf)].map(([topic, requirements]) => {
    const cases = requirements.flatMap((requirement) => casesOf(report, requirement, causes.get(requirement.id)));
    return [topic, cases] as const;
  });
  const suites = [["The run", problemCases(report)] as const, ...topics].filter(([, cases]) => cases.length > 0);
  return render("junit", {
    ...totalsOf(suites.flatMap(([, cases]) => cases)),
    name: `certify ${report.baseUrl}: ${words.runVerdicts[report.verdict]}, ${scopeLine(report)}`,
    report,
    suites: suites.map(([name, cases]) => ({
      ...totalsOf(cases),
      name,
      cases,
      seconds: seconds(cases.reduce((total, { durationMs = 0 }) => total + durationMs, 0)),
    })),
    seconds: seconds(Date.parse(report.finishedAt) - Date.parse(report.startedAt)),
    inSeconds: seconds,
    oneLine,
  });
}
