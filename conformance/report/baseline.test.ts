import { expect, test } from "vitest";
import { exitCodeOf } from "../results.ts";
import { applyBaseline, BaselineError, readBaseline } from "./baseline.ts";
import type { KnownFailure } from "./baseline.ts";
import { check, hostile, sampleReport, requirement } from "../testing/sample-report.ts";

const ids = ["create.echo", "verify.fields"];
const now = new Date("2026-11-20T12:00:00Z");
const entry = (over: Partial<KnownFailure> = {}): KnownFailure => ({
  id: "create.echo",
  reason: "Repaired in 4.2",
  expires: "2026-12-31",
  ...over,
});

test("reads a list of known failures", () => {
  const text = `
- id: create.echo
  reason: Repaired in 4.2
  expires: 2026-12-31
- id: verify.fields
  checks: [fee]
  reason: The fee is a string
  expires: "2027-01-15"
`;
  expect(readBaseline(text, ids)).toEqual([
    entry(),
    { id: "verify.fields", checks: ["fee"], reason: "The fee is a string", expires: "2027-01-15" },
  ]);
});

test.each(["", "# nothing known\n", "[]"])("reads a file without entries as an empty list: %j", (text) => {
  expect(readBaseline(text, ids)).toEqual([]);
});

test.each([
  ["invalid YAML", "- id: [", [/at line 1/]],
  ["a mapping", "id: create.echo", [/must be a list/]],
  ["an entry that is text", "- create.echo", [/Entry 1: must be a mapping/]],
  [
    "an unknown id",
    "- {id: nope, reason: r, expires: 2026-12-31}",
    [/Entry 1 \(nope\): there is no requirement "nope"/],
  ],
  ["no reason", "- {id: create.echo, expires: 2026-12-31}", [/reason is missing/]],
  ["a blank reason", "- {id: create.echo, reason: ' ', expires: 2026-12-31}", [/reason is missing/]],
  ["no last day", "- {id: create.echo, reason: r}", [/expires must be a day/]],
  ["a day that does not exist", "- {id: create.echo, reason: r, expires: 2026-02-30}", [/expires must be a day/]],
  ["an unknown field", "- {id: create.echo, reason: r, expires: 2026-12-31, until: x}", [/unknown field "until"/]],
  [
    "checks that are not a list",
    "- {id: create.echo, reason: r, expires: 2026-12-31, checks: a}",
    [/checks must be a list/],
  ],
  [
    "a duplicate id",
    "- {id: create.echo, reason: r, expires: 2026-12-31}\n- {id: create.echo, reason: s, expires: 2026-12-31}",
    [/"create.echo" is listed more than once/],
  ],
  [
    "several problems together",
    "- {id: nope}\n- 7",
    [/no requirement "nope"/, /reason is missing/, /expires must be/, /Entry 2: must be a mapping/],
  ],
])("rejects a file with %s", (_fault, text, expected) => {
  const read = () => readBaseline(text, ids);
  expect(read).toThrow(BaselineError);
  for (const message of expected) expect(read).toThrow(message);
});

const failing = requirement("create.echo", "fail", {
  checks: [check({ name: "amount", verdict: "fail" }), check({ name: "reference" })],
});
const others = [requirement("verify.fields", "pass")];

test("turns a known failure into a warning with its reason, and the run passes partially", () => {
  const { report, problems } = applyBaseline(sampleReport([failing, ...others]), [entry()], now);
  expect(problems).toEqual([]);
  expect(report.requirements[0]).toMatchObject({
    verdict: "warn",
    knownFailure: { reason: "Repaired in 4.2", expires: "2026-12-31" },
  });
  expect(report).toMatchObject({ verdict: "passed-partially", counts: { fail: 0, warn: 1 } });
  expect(exitCodeOf(report)).toBe(0);
});

test.each([
  ["is valid until the end of its last day", "2026-11-20", "2026-11-20T23:59:59.999Z", 0],
  ["has expired a millisecond later", "2026-11-20", "2026-11-21T00:00:00.000Z", 1],
])("an entry %s", (_name, expires, at, exit) => {
  const { report } = applyBaseline(sampleReport([failing]), [entry({ expires })], new Date(at));
  expect(exitCodeOf(report)).toBe(exit);
});

test.each([
  ["has expired", [failing], entry({ expires: "2026-11-19" }), /create.echo: the entry expired on 2026-11-19/],
  ["has expired, not judged", [], entry({ expires: "2026-11-19" }), /the entry expired/],
  ["passes now", [requirement("create.echo", "pass")], entry(), /create.echo: no longer fails/],
  ["is a warning now", [requirement("create.echo", "warn")], entry(), /no longer fails/],
  ["names a check that passes", [failing], entry({ checks: ["amount", "reference"] }), /"reference" no longer fails/],
])("an entry that %s fails the run", (_name, requirements, known, message) => {
  const { report, problems } = applyBaseline(sampleReport([...requirements, ...others]), [known], now);
  expect(problems).toEqual([expect.stringMatching(message)]);
  expect(report).toMatchObject({ verdict: "failed", baselineProblems: problems });
  expect(exitCodeOf(report)).toBe(1);
});

test.each([
  ["left out of the run", []],
  ["not applicable", [requirement("create.echo", "not-applicable")]],
])("an entry whose requirement was %s is no problem", (_name, requirements) => {
  const before = sampleReport([...requirements, ...others]);
  expect(applyBaseline(before, [entry()], now)).toEqual({ report: before, problems: [] });
});

test("does not tolerate a failing check that the entry does not name", () => {
  const { report } = applyBaseline(sampleReport([failing]), [entry({ checks: ["reference"] })], now);
  expect(report.requirements[0]?.verdict).toBe("fail");
  expect(exitCodeOf(report)).toBe(1);
});

test("does not tolerate an unknown failure, and the summary counts both kinds", () => {
  const unknown = requirement("verify.fields", "fail");
  const { report } = applyBaseline(sampleReport([failing, unknown]), [entry()], now);
  expect(report).toMatchObject({ verdict: "failed", counts: { fail: 1, warn: 1 } });
  expect(report.summary).toBe("1 requirement failed; 1 known failure tolerated for now.");
});

test("a known failure does not hide a check that could not run", () => {
  const { report } = applyBaseline(
    sampleReport([failing, requirement("verify.fields", "could-not-run")]),
    [entry()],
    now,
  );
  expect(exitCodeOf(report)).toBe(2);
});

test("a reason may be any text", () => {
  const text = JSON.stringify([entry({ reason: hostile.toWellFormed() })]);
  expect(readBaseline(text, ids)[0]?.reason).toBe(hostile.toWellFormed());
});
