import type { CheckResult, Report, RequirementResult } from "../results.ts";
import { causesOf, type Cause } from "./causes.ts";
import { repeatOf } from "./repeat.ts";
import { render } from "./templates.ts";
import { scopeLine } from "./scope.ts";
import { oneLine } from "./visible.ts";
import * as words from "./words.ts";

type TestCase = {
  name: string;
  className: string;
  seconds: string;
  outcome?: { element: "failure" | "error" | "skipped"; message: string; text: string };
  output?: string;
};

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3);

/** Renders the text of a failure: the requirement, what was expected and received, why it matters, and its repetition. */
function evidence(report: Report, requirement: RequirementResult, check: CheckResult): string {
  return [
    `Requirement: ${requirement.text} (${words.sourceOf(requirement)}, ${words.levels[requirement.level]})`,
    `Expected: ${check.expected}`,
    `Received: ${check.actual}`,
    ...(requirement.matters === undefined ? [] : [`Why it matters: ${requirement.matters}`]),
    `Repeat: ${repeatOf(report, requirement, check)}`,
  ].join("\n");
}

/** Returns the message of a failure, with its cause, and how many other failures have the same. */
function messageOf(cause: Cause | undefined, { text }: RequirementResult, check: CheckResult): string {
  if (!cause || cause.title === text) return check.actual;
  const others = cause.failures.length - 1;
  const same = others === 0 ? "" : `same cause as ${words.counted(others, "other requirement")}: `;
  return `${check.actual} (${same}${cause.title})`;
}

function checkCase(report: Report, requirement: RequirementResult, check: CheckResult, cause?: Cause): TestCase {
  const { knownFailure } = requirement;
  const text = evidence(report, requirement, check);
  const base = {
    name: oneLine(check.name),
    className: oneLine(requirement.id),
    seconds: seconds(check.durationMs),
  };
  const outcome = (element: "failure" | "error" | "skipped", message: string) => ({
    ...base,
    outcome: { element, message: oneLine(message), text },
  });
  if (check.verdict === "fail" && knownFailure && requirement.verdict !== "fail") {
    return outcome("skipped", `Known failure until ${knownFailure.expires}: ${knownFailure.reason}`);
  }
  if (check.verdict === "fail") return outcome("failure", messageOf(cause, requirement, check));
  if (check.verdict === "could-not-run") return outcome("error", check.actual);
  if (check.verdict === "not-applicable") return outcome("skipped", check.actual);
  return check.verdict === "pass" ? base : { ...base, output: `${words.verdicts[check.verdict]}. ${text}` };
}

/** Returns the test case of a requirement whose checks were not started, so that every requirement has a test case. */
function unjudgedCase(requirement: RequirementResult): TestCase {
  const why = requirement.reason?.text ?? words.verdicts[requirement.verdict];
  const element = requirement.verdict === "could-not-run" ? "error" : "skipped";
  return {
    name: oneLine(requirement.text),
    className: oneLine(requirement.id),
    seconds: seconds(0),
    outcome: { element, message: oneLine(why), text: requirement.text },
  };
}

function suite(name: string, cases: TestCase[]) {
  const count = (element: string) => cases.filter(({ outcome }) => outcome?.element === element).length;
  return {
    name: oneLine(name),
    cases,
    tests: cases.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    seconds: cases.reduce((total, test) => total + Number(test.seconds), 0).toFixed(3),
  };
}

const problemCase = (element: "failure" | "error", name: string) => (problem: string) => ({
  name,
  className: "certify",
  seconds: seconds(0),
  outcome: { element, message: oneLine(problem), text: problem },
});

/**
 * Renders the report as JUnit XML, with a test suite for each topic and a test case for each check.
 * Failed checks are failures. Checks that could not run, and errors of the suite, are errors. Requirements that are not
 * applicable are skipped.
 */
export function renderJunit(report: Report): string {
  const groups = Map.groupBy(report.requirements, words.topicOf);
  const causes = new Map(
    causesOf(report).flatMap((cause) => cause.failures.map(({ requirement }) => [requirement.id, cause] as const)),
  );
  const suites = [...groups].map(([topic, requirements]) => {
    const cases = requirements.flatMap((requirement) =>
      requirement.checks.length > 0
        ? requirement.checks.map((check) => checkCase(report, requirement, check, causes.get(requirement.id)))
        : [unjudgedCase(requirement)],
    );
    return suite(topic, cases);
  });
  const problems = [
    ...report.errors.map(problemCase("error", "The suite runs without errors")),
    ...[report.falseDeclaration ?? []]
      .flat()
      .map(problemCase("failure", "The declared limits are those of the target")),
    ...(report.baselineProblems ?? []).map(problemCase("failure", "The list of known failures is up to date")),
  ];
  if (problems.length > 0) suites.unshift(suite("The run", problems));
  const total = (key: "tests" | "failures" | "errors" | "skipped") =>
    suites.reduce((sum, { [key]: count }) => sum + count, 0);
  return render("junit", {
    name: oneLine(`certify ${report.baseUrl}: ${words.runVerdicts[report.verdict]}, ${scopeLine(report)}`),
    report,
    suites,
    tests: total("tests"),
    failures: total("failures"),
    errors: total("errors"),
    skipped: total("skipped"),
    seconds: seconds(Date.parse(report.finishedAt) - Date.parse(report.startedAt)),
  });
}
