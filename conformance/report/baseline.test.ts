import { expect, test } from "vitest";
import { CannotRun, exitCodeOf, type RequirementResult } from "../results.ts";
import { check, hostile, sampleReport, requirement } from "../testing/sample-report.ts";
import { applyBaseline, readBaseline, type KnownFailure } from "./baseline.ts";

const now = new Date("2026-11-20T12:00:00Z");
const entry = (over: Partial<KnownFailure> = {}): KnownFailure => ({
  id: "create.echo",
  reason: hostile.toWellFormed(),
  expires: "2026-12-31",
  ...over,
});
const read = (text: string) => readBaseline(text, ["create.echo", "verify.fields"]);

test("reads a list of known failures, which may be empty", () => {
  const entries = [entry(), entry({ id: "verify.fields", checks: ["fee"] })];
  expect(read(JSON.stringify(entries))).toEqual(entries);
  expect(["", "# nothing known\n", "[]"].map((text) => read(text))).toEqual([[], [], []]);
});

const rest = "reason: r, expires: 2026-12-31";
test.each([
  ["invalid YAML", "- id: [", /at line 1/],
  ["a mapping", "id: create.echo", /must be a list/],
  ["an entry that is text", "- create.echo", /Entry 1 must be object/],
  ["an unknown id", `- {id: nope, ${rest}}`, /Entry 1 \(nope\) id: there is no such requirement/],
  ["no reason", "- {id: create.echo, expires: 2026-12-31}", /Entry 1 \(create.echo\) must have .* 'reason'/],
  ["a blank reason", "- {id: create.echo, reason: ' ', expires: 2026-12-31}", /reason must match/],
  ["a day that does not exist", "- {id: create.echo, reason: r, expires: 2026-02-30}", /expires must be a day/],
  ["a month", "- {id: create.echo, reason: r, expires: '2026-12'}", /expires must be a day/],
  ["an unknown field", `- {id: create.echo, until: x, ${rest}}`, /must NOT have additional properties: until/],
  ["checks that are not a list", `- {id: create.echo, checks: a, ${rest}}`, /checks must be array/],
  ["a duplicate id", `- {id: create.echo, ${rest}}\n- {id: create.echo, ${rest}}`, /create.echo: use one entry/],
  ["several problems", "- {id: nope}\n- 7", /Entry 1 .*reason[^]*Entry 1 .*expires[^]*Entry 1 .*no such[^]*Entry 2/],
])("rejects a file with %s", (_fault, text, message) => {
  expect(() => read(text)).toThrow(CannotRun);
  expect(() => read(text)).toThrow(message);
});

const failing = requirement("create.echo", "fail", {
  checks: [check({ name: "amount", verdict: "fail" }), check({ name: "reference" })],
});
const other = requirement("verify.fields", "pass");
const otherFails = requirement("verify.fields", "fail");
const late = { expires: "2026-11-19" };

/** What the run found, the entry of the list, and what becomes of the run. */
test.each<[string, RequirementResult[], Partial<KnownFailure>, string, number, RegExp]>([
  ["fails as known", [failing, other], {}, "passed-partially", 0, /^Nothing else failed; 1 known failure tolerated/],
  ["fails on the last day", [failing], { expires: "2026-11-20" }, "passed-partially", 0, /1 known failure/],
  ["fails after the last day", [failing], late, "failed", 1, /create.echo: the entry expired on 2026-11-19/],
  ["is not judged after the last day", [], late, "failed", 1, /the entry expired/],
  ["passes now", [requirement("create.echo", "pass")], {}, "failed", 1, /create.echo: no longer fails/],
  ["is a warning now", [requirement("create.echo", "warn")], {}, "failed", 1, /no longer fails/],
  [
    "passes in a named check",
    [failing],
    { checks: ["amount", "reference"] },
    "failed",
    1,
    /"reference" no longer fails/,
  ],
  [
    "fails in a check that is not named",
    [failing],
    { checks: ["reference"] },
    "failed",
    1,
    /"reference" no longer fails/,
  ],
  ["is left out of the run", [other], {}, "certified", 0, /^1 of 1/],
  ["is not applicable", [requirement("create.echo", "not-applicable")], {}, "certified", 0, /^0 of 1/],
  ["fails beside another", [failing, otherFails], {}, "failed", 1, /^1 requirement failed; 1 known failure tolerated/],
  [
    "hides no check that could not run",
    [failing, requirement("x", "could-not-run")],
    {},
    "error",
    2,
    /could not be judged; 1/,
  ],
])("a known failure that %s", (_, requirements, over, verdict, exitCode, text) => {
  const report = applyBaseline(sampleReport(requirements), [entry(over)], now);
  expect([report.verdict, exitCodeOf(report)]).toEqual([verdict, exitCode]);
  expect((report.baselineProblems ?? [report.summary]).join("\n")).toMatch(text);
});
