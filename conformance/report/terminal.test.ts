import { expect, test } from "vitest";
import { check, exchange, hostile, sampleReport, requirement } from "../testing/sample-report.ts";
import { renderTerminal } from "./terminal.ts";

const plain = { color: false };
const failing = requirement("create.repeated", "fail", {
  text: "A repeated reference is refused.",
  checks: [
    check({ name: "one after the other" }),
    check({
      name: "8 at once",
      verdict: "fail",
      expected: "one HTTP 200",
      actual: "three HTTP 200:\nDSB1, DSB2, DSB3",
      exchanges: [exchange({ curl: "curl first" }), exchange({ curl: "curl last" })],
    }),
  ],
});

test("a failure says what was required and where, what came, and how to repeat it", () => {
  const text = renderTerminal(sampleReport([requirement("auth.key", "pass"), failing]), plain);
  expect(text).toContain(`✗ create.repeated  §4.1 Create a disbursement, must
    A repeated reference is refused.
    check     8 at once
    expected  one HTTP 200
    actual    three HTTP 200:
              DSB1, DSB2, DSB3
    repeat    curl first
    repeat    curl last
`);
  expect(text).toContain("Judge these again: certify --base-url https://sandbox.example");
  expect(text).toContain("--only create.repeated --seed 42");
});

test("verdict, target and reason stand on the first lines, the errors of the suite below them", () => {
  const report = sampleReport([], {
    verdict: "error",
    summary: "The target did not answer.",
    errors: ["connect ECONNREFUSED"],
  });
  expect(renderTerminal(report, plain).split("\n").slice(0, 3)).toEqual([
    "NOT COMPLETED  https://sandbox.example, profile core, effects money",
    "The target did not answer.",
    "! connect ECONNREFUSED",
  ]);
});

test("what was not judged is named with the reason, and counts end the text", () => {
  const text = renderTerminal(sampleReport([requirement("a", "pass"), requirement("b", "not-applicable")]), plain);
  expect(text).toContain("Not judged (1): b\n    The target has no payment page to finish.\n");
  expect(text).toContain("1 passed, 1 not judged; 3 of 500 allowed payouts made");
});

test("problems with the list of known failures are named", () => {
  const report = sampleReport([requirement("a", "pass")], { baselineProblems: ["a: it fails no longer."] });
  expect(renderTerminal(report, plain)).toContain("✗ a: it fails no longer.");
});

test("a record that ought to have been refused is pointed at", () => {
  const created = [{ kind: "disbursement" as const, at: "2026-11-20T10:00:00.000Z", unintended: true as const }];
  expect(renderTerminal(sampleReport([], { created }), plain)).toContain(
    "1 record made that ought to have been refused",
  );
});

test("of many failing checks three are shown and the others counted", () => {
  const checks = ["a", "b", "c", "d", "e"].map((name) => check({ name, verdict: "fail" }));
  const text = renderTerminal(sampleReport([requirement("x", "fail", { checks })]), plain);
  expect(text.match(/^ {4}check/gm)).toHaveLength(3);
  expect(text).toContain("and 2 more checks: see the report");
});

test("colours are escape sequences only where they are asked for", () => {
  const escape = "\u001b[";
  expect(renderTerminal(sampleReport([failing]), { color: true })).toContain(escape);
  expect(renderTerminal(sampleReport([failing]), plain)).not.toContain(escape);
});

test("nothing that the target sends reaches the terminal as a command", () => {
  const checks = [
    check({
      name: hostile,
      verdict: "fail",
      expected: hostile,
      actual: hostile,
      exchanges: [exchange({ curl: hostile })],
    }),
  ];
  const stopped = { code: "stopped" as const, text: hostile };
  const report = sampleReport(
    [
      requirement(hostile, "fail", { text: hostile, section: hostile, checks }),
      requirement("b", "could-not-run", { checks: [], reason: stopped }),
      requirement(hostile, "not-applicable"),
    ],
    { baseUrl: hostile, summary: hostile, errors: [hostile], baselineProblems: [hostile] },
  );
  expect(renderTerminal(report, plain).replaceAll("\n", "")).not.toMatch(/[\p{Control}\p{Surrogate}\u202a-\u202e]/u);
});
