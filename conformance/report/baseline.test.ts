import { expect, test } from "vitest";
import { renderReports } from "../cli/reporting.ts";
import { exitCodeOf, type RequirementResult } from "../results.ts";
import { check, requirement, sampleReport } from "../testing/sample-report.ts";
import { newBaseline, readBaseline as read } from "./baseline.ts";
import { renderTerminal } from "./terminal.ts";

const now = new Date("2026-11-20T12:00:00Z");
const rest = "reason: r, expires: 2026-12-31";

test.each([
  ["invalid YAML", "- id: [", /at line 1/],
  ["a mapping", "id: lists.pages", /must be a list/],
  ["an unknown id", `- {id: nope, ${rest}}`, /entry 1 id: there is no such requirement/],
  ["a reason to be filled in", `- {id: lists.pages, reason: "", expires: 2026-12-31}`, /entry 1 reason: say why/],
  ["a day that does not exist", "- {id: lists.pages, reason: r, expires: 2026-02-30}", /expires must be a day/],
  ["a duplicate id", `- {id: lists.pages, ${rest}}\n- {id: lists.pages, ${rest}}`, /lists.pages: use one entry/],
  ["several problems", "- {id: lists.pages, expires: 2026-12-31}\n- 7", /entry 1 .*'reason'[^]*entry 2 must be object/],
])("a list of known failures with %s is rejected", (_, text, message) => {
  expect(() => read(text)).toThrow(message);
});

const failing = requirement("lists.pages", "fail", {
  checks: [check({ name: "amount", verdict: "fail" }), check({ name: "reference" })],
});
const expired = "expires: 2026-11-19";
const tolerated = /^Nothing else failed; 1 known failure tolerated/;

test.each<[string, RequirementResult[], over: string, verdict: string, exitCode: number, RegExp]>([
  ["fails as known", [failing], "expires: 2026-12-31", "passed-partially", 0, tolerated],
  ["fails on the last day", [failing], "expires: 2026-11-20", "passed-partially", 0, tolerated],
  ["fails after the last day", [failing], expired, "failed", 1, /lists.pages: the entry expired on 2026-11-19/],
  ["is not judged after the last day", [], expired, "failed", 1, /the entry expired/],
  ["passes now", [requirement("lists.pages", "pass")], "expires: 2026-12-31", "failed", 1, /no longer fails/],
  ["passes in a check", [failing], "expires: 2026-12-31, checks: [reference]", "failed", 1, /"reference" no longer/],
  [
    "fails beside another",
    [failing, requirement("verify.found", "fail")],
    "expires: 2026-12-31",
    "failed",
    1,
    /^1 requirement failed; 1 known failure tolerated/,
  ],
  [
    "hides no check that could not run",
    [failing, requirement("x", "could-not-run")],
    "expires: 2026-12-31",
    "error",
    2,
    /could not be judged; 1/,
  ],
])("a known failure that %s is shown in every form", (_, requirements, over, verdict, exitCode, text) => {
  const entries = read(`[{id: lists.pages, reason: Fixed in 4.2, ${over}}]`);
  const { report, contents } = renderReports(sampleReport(requirements), { baseline: entries }, now);
  expect([report.verdict, exitCodeOf(report)]).toEqual([verdict, exitCode]);
  const problem = report.baselineProblems?.[0];
  expect(problem ?? report.summary).toMatch(text);
  const forms = { ...contents, terminal: renderTerminal(report, { color: false }) };
  const lacking = Object.entries(forms).filter(([name, content]) => {
    const known = /json|html|junit/.test(name) ? "Fixed in 4.2" : "1 known failure";
    return !content.includes(problem?.slice(0, 12) ?? known);
  });
  expect(lacking.map(([name]) => name)).toEqual([]);
});

test("a new list has the failures of a run for 30 days, and can be read once its reasons are filled in", () => {
  const report = sampleReport([failing, requirement("verify.found", "fail"), requirement("x", "pass")]);
  const text = newBaseline(report, now);
  expect(text).toContain('- id: lists.pages\n  checks:\n    - amount\n  reason: ""\n  expires: 2026-12-20\n');
  const baseline = read(text.replaceAll('""', "Fixed in 4.2"));
  expect(renderReports(report, { baseline }, now).report.verdict).toBe("passed-partially");
});
