import { XmlDocument, XmlElement } from "libxml2-wasm";
import { expect, test } from "vitest";
import type { Report } from "../results.ts";
import { renderJunit } from "./junit.ts";
import { check, exchange, hostile, sampleReport, requirement } from "../testing/sample-report.ts";

/** Returns the attributes and the text of each element that an XPath expression selects in the rendered report. */
function found(report: Report, path: string): Record<string, string>[] {
  using document = XmlDocument.fromString(renderJunit(report));
  return document.find(path).map((node) => {
    const attributes = node instanceof XmlElement ? node.attrs.map(({ name, value }) => [name, value]) : [];
    return { ...Object.fromEntries(attributes), text: node.content };
  });
}

test.each([
  ["pass", "system-out|failure|error|skipped", 0],
  ["fail", "failure", 1],
  ["could-not-run", "error", 1],
  ["not-applicable", "skipped", 1],
  ["warn", "system-out", 1],
  ["observed", "system-out", 1],
] as const)("a requirement with verdict %s is a test case with %s", (verdict, elements, count) => {
  const report = sampleReport([requirement("create.echo", verdict)]);
  const path = elements.split("|").map((element) => `//testcase[@classname="create.echo"]/${element}`);
  expect(found(report, path.join("|"))).toHaveLength(count);
});

test("has a suite for each topic, with correct totals", () => {
  const report = sampleReport([
    requirement("auth.a", "pass"),
    requirement("auth.b", "fail", { checks: [check(), check({ verdict: "fail" })] }),
    requirement("lists.c", "not-applicable"),
  ]);
  const [whole] = found(report, "/testsuites");
  expect(whole).toMatchObject({ tests: "4", failures: "1", errors: "0", skipped: "1", time: "18.500" });
  expect(found(report, "//testsuite")).toMatchObject([
    { name: "auth", tests: "3", failures: "1", time: "0.060" },
    { name: "lists", tests: "1", skipped: "1" },
  ]);
});

test("a failure's text names the requirement, its section, what was expected and received, and a curl command", () => {
  const checks = [
    check({ verdict: "fail", actual: "HTTP 200", exchanges: [exchange({ curl: "curl -X POST" })], shownBy: 1 }),
  ];
  const matters = "It is paid twice.";
  const [failure] = found(sampleReport([requirement("a", "fail", { checks, matters })]), "//failure");
  expect(failure?.message).toBe("HTTP 200");
  expect(failure?.text).toBe(
    "Requirement: What a promises. (§4.1, must)\nExpected: HTTP 409\nReceived: HTTP 200\nWhy it matters: It is paid twice.\nRepeat: curl -X POST",
  );
});

test("a failure's message says how many others have the same cause", () => {
  const checks = [check({ verdict: "fail", actual: "500 oops", exchanges: [exchange({ status: 500 })], shownBy: 1 })];
  const report = sampleReport(["a", "b", "c"].map((id) => requirement(id, "fail", { checks })));
  expect(found(report, "//failure").map(({ message }) => message)).toEqual(
    Array.from({ length: 3 }, () =>
      expect.stringMatching(/^500 oops \(same cause as 2 other requirements: The target responds with 500/),
    ),
  );
});

test("reports a requirement whose checks did not start as an error", () => {
  const stopped = { code: "stopped" as const, text: "The budget was used up." };
  const report = sampleReport([requirement("a", "could-not-run", { checks: [], reason: stopped })]);
  expect(found(report, "//error")).toMatchObject([{ message: "The budget was used up." }]);
});

test("reports errors of the suite, a false declaration and an outdated list of known failures as test cases", () => {
  const falseDeclaration = "--declare: largestAmount";
  const baselineProblems = ["a: no longer fails."];
  const report = sampleReport([], { errors: ["unreachable"], baselineProblems, falseDeclaration });
  expect(found(report, "//error")).toMatchObject([{ message: "unreachable" }]);
  expect(found(report, "//failure")).toMatchObject([{ message: falseDeclaration }, { message: "a: no longer fails." }]);
});

test("reports a known failure as skipped, with its reason", () => {
  const knownFailure = { reason: "Fixed in 4.2", expires: "2026-12-31" };
  const checks = [check({ verdict: "fail" })];
  const report = sampleReport([requirement("a", "warn", { knownFailure, checks })]);
  expect(found(report, "//skipped")).toMatchObject([{ message: "Known failure until 2026-12-31: Fixed in 4.2" }]);
  expect(found(report, "//failure")).toEqual([]);
});

test("is valid XML whatever the target sent", () => {
  const checks = [
    check({
      name: hostile,
      verdict: "fail",
      expected: hostile,
      actual: hostile,
      exchanges: [exchange({ curl: hostile })],
    }),
  ];
  const report = sampleReport([requirement("a", "fail", { text: hostile, section: hostile, checks })], {
    baseUrl: hostile,
    errors: [hostile],
  });
  const [failure] = found(report, "//failure");
  expect(failure?.text).toContain(`<script>alert("x")</script>`);
  expect(failure?.text).toContain("&amp;]]>\\u{1b}[2J");
  expect(found(report, "//script | //img")).toEqual([]);
});
