import { expect, test } from "vitest";
import { check, exchange, hostile, sampleReport, requirement } from "../testing/sample-report.ts";
import { renderTerminal } from "./terminal.ts";

const plain = { color: false };
const failing = requirement("create.repeated", "fail", {
  text: "A duplicate reference is refused.",
  matters: "The recipient is paid twice.",
  checks: [
    check({ name: "one after the other" }),
    check({
      name: "8 at once",
      verdict: "fail",
      expected: "one HTTP 200",
      actual: "three HTTP 200:\nDSB1, DSB2, DSB3",
      exchanges: [exchange({ id: 3, curl: "curl first" }), exchange({ id: 4, curl: "curl last" })],
      shownBy: 4,
    }),
  ],
});

test("a failure shows its requirement and source, what was expected and received, and how to repeat it", () => {
  const text = renderTerminal(sampleReport([requirement("auth.key", "pass"), failing]), plain);
  expect(text).toContain(`✗ create.repeated  §4.1, must
    A duplicate reference is refused.
    why       The recipient is paid twice.
    check     8 at once
    expected  one HTTP 200
    received  three HTTP 200:
              DSB1, DSB2, DSB3
    repeat    curl last
`);
  expect(text).toContain("Re-run these: npx --no -- certify --base-url https://sandbox.example");
  expect(text).toContain("--only create.repeated --seed 42");
});

test("starts with verdict, target and reason, followed by errors of the suite", () => {
  const report = sampleReport([], {
    verdict: "error",
    summary: "The target did not respond.",
    errors: ["connect ECONNREFUSED"],
  });
  expect(renderTerminal(report, plain).split("\n").slice(0, 3)).toEqual([
    expect.stringMatching(/^NOT COMPLETED {2}core · effects money · \d+ of \d+ musts.* · https:\/\/sandbox\.example$/),
    "The target did not respond.",
    "! connect ECONNREFUSED",
  ]);
});

test("names what was not judged with the reason, and ends with counts", () => {
  const text = renderTerminal(sampleReport([requirement("a", "pass"), requirement("b", "not-applicable")]), plain);
  expect(text).toContain("Not judged (1): b\n    The target has no payment page to finish.\n");
  expect(text).toContain("1 of 2 musts passed, 1 not applicable\nPaid nothing in 3 of 500 allowed payouts\n");
});

test("names problems with the list of known failures", () => {
  const report = sampleReport([requirement("a", "pass")], { baselineProblems: ["a: no longer fails."] });
  expect(renderTerminal(report, plain)).toContain("✗ a: no longer fails.");
});

test("points out a record that the target must refuse", () => {
  const created = [{ kind: "disbursement" as const, at: "2026-11-20T10:00:00.000Z", unintended: true as const }];
  expect(renderTerminal(sampleReport([], { created }), plain)).toContain(
    "The target created 1 record that it must refuse",
  );
});

test("shows one of many failing checks and counts the others", () => {
  const checks = ["a", "b", "c", "d", "e"].map((name) => check({ name, verdict: "fail" }));
  const text = renderTerminal(sampleReport([requirement("x", "fail", { checks })]), plain);
  expect(text).toContain("check     a, and 4 more checks\n");
});

test("shows many failures of one cause as one", () => {
  const evidence = [exchange({ id: 5, status: 500, responseBody: '{"error":"Internal Server Error"}' })];
  const checks = [check({ verdict: "fail", exchanges: evidence, shownBy: 5 })];
  const ids = Array.from({ length: 40 }, (_, index) => `create.${index}`);
  const text = renderTerminal(sampleReport(ids.map((id) => requirement(id, "fail", { checks }))), plain);
  expect(text).toMatch(
    /40 requirements, one cause: The target responds with 500 Internal Server Error\. The value reaches .*\n✗ create\.0 /,
  );
  expect(text).toContain("    also      create.1, create.2");
  expect(text.match(/✗/g)).toHaveLength(1);
});

const paid = (amount: number, currency: string) => ({
  kind: "disbursement" as const,
  at: "2026-11-20T10:00:00.000Z",
  amount,
  currency,
});

test("sums what was paid by currency", () => {
  const created = [paid(100, "GHS"), paid(10_000, "XOF"), paid(50, "XOF")];
  expect(renderTerminal(sampleReport([], { created }), plain)).toContain("Paid 100.50 XOF and 1.00 GHS in 3 of 500");
});

test("says what Dredd judged", () => {
  const dredd = { transactions: 12, failed: [] };
  expect(renderTerminal(sampleReport([], { dredd }), plain)).toContain("\nDredd judged 12 documented responses");
  expect(renderTerminal(sampleReport([]), plain)).not.toContain("Dredd");
});

test("uses colours only on request", () => {
  const escape = "\u001b[";
  expect(renderTerminal(sampleReport([failing]), { color: true })).toContain(escape);
  expect(renderTerminal(sampleReport([failing]), plain)).not.toContain(escape);
});

test("escapes control sequences sent by the target", () => {
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
