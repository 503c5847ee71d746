import { expect, test } from "vitest";
import { compareReports, renderComparison } from "./diff.ts";
import { hostile, sampleReport, requirement } from "../testing/sample-report.ts";

const a = sampleReport([requirement("create.echo", "pass"), requirement("webhook.failed", "pass")], {
  observed: [
    { requirement: "split", name: "missing amount", value: 400 },
    { requirement: "signing", name: "headers", value: { id: "webhook-id", names: ["a", "b"] } },
  ],
});

test("finds no differences between runs that differ only in times and order", () => {
  const again = structuredClone(a);
  again.requirements.reverse();
  again.observed.reverse();
  again.observed[0]!.value = { names: ["a", "b"], id: "webhook-id" };
  again.startedAt = "2027-01-01T00:00:00.000Z";
  expect(compareReports(a, again)).toEqual({ differences: [], apart: 0, notes: [], compared: 5 });
});

test("finds verdicts and observations that differ or exist in only one run", () => {
  const b = sampleReport([requirement("create.echo", "fail"), requirement("new.one", "pass")], {
    observed: [
      { requirement: "split", name: "missing amount", value: 422 },
      { requirement: "split", name: "empty body", value: null },
      { requirement: "signing", name: "headers", value: { id: "webhook-id" } },
    ],
  });
  expect(compareReports(a, b).differences).toEqual([
    { kind: "verdict", requirement: "create.echo", a: "pass", b: "fail" },
    { kind: "verdict", requirement: "webhook.failed", a: "pass", b: undefined },
    { kind: "verdict", requirement: "new.one", a: undefined, b: "pass" },
    { kind: "observed", requirement: "split", name: "missing amount", a: "400", b: "422" },
    { kind: "observed", requirement: "signing", name: "headers, names", a: '["a","b"]', b: undefined },
    { kind: "observed", requirement: "split", name: "empty body", a: undefined, b: "null" },
  ]);
});

test.each([
  ["profile", { profile: "extended" }, /The profiles differ: core and extended/],
  ["effects", { effects: "none" }, /The allowed effects differ: money and none/],
  ["contract", { specSha256: "0" }, /The contracts differ/],
  ["version of the suite", { suiteVersion: "2.0.0" }, /The suite versions differ: 1.0.0 and 2.0.0/],
] as const)("another %s is noted, and is no difference by itself", (_what, over, note) => {
  const comparison = compareReports(a, { ...a, ...over });
  expect(comparison.differences).toEqual([]);
  expect(comparison.notes).toEqual([expect.stringMatching(note)]);
});

const left = (id: string, code: "effects" | "only") =>
  requirement(id, "not-applicable", { reason: { code, text: "left out" } });

test("counts what only one run was configured to judge, instead of calling it a difference", () => {
  const core = sampleReport([requirement("create.echo", "pass"), left("create.accepted", "effects")], {
    effects: "reject",
  });
  const extended = sampleReport(
    [
      requirement("create.echo", "fail"),
      requirement("create.accepted", "pass"),
      requirement("forced.001-success", "pass"),
      requirement("fees.shown", "observed"),
    ],
    { profile: "extended", observed: [{ requirement: "fees.shown", name: "fee", value: 3 }] },
  );
  const comparison = compareReports(core, extended);
  expect(comparison.differences).toEqual([{ kind: "verdict", requirement: "create.echo", a: "pass", b: "fail" }]);
  expect(comparison.apart).toBe(3);
  const text = renderComparison(core, extended, comparison);
  expect(text.indexOf("The profiles differ: core and extended.")).toBeLessThan(text.indexOf("create.echo"));
  expect(text.indexOf("The effects allowed differ: reject and money.")).toBeLessThan(text.indexOf("create.echo"));
  expect(text).toContain("Not compared: 3 requirements that only one of the two runs was configured to judge.");
  expect(text).not.toContain("forced.001-success");
  expect(text).not.toContain("not in this run");
});

test("counts what --only excluded from one run", () => {
  const b = sampleReport([requirement("create.echo", "pass"), left("webhook.failed", "only")], {
    only: ["create.echo"],
    observed: a.observed,
  });
  const comparison = compareReports(a, b);
  expect(comparison).toMatchObject({ differences: [], apart: 1 });
  expect(comparison.notes).toEqual(["The selections (--only) differ: everything and create.echo."]);
});

test("the text names both targets and the values of each", () => {
  const b = sampleReport([requirement("create.echo", "fail")], {
    baseUrl: "https://live.example",
    observed: [{ requirement: "split", name: "missing amount", value: 422 }],
  });
  const text = renderComparison(a, b, compareReports(a, b));
  expect(text).toContain("A  https://sandbox.example\nB  https://live.example\n");
  expect(text).toContain("  create.echo\n    A  Passed\n    B  Failed\n");
  expect(text).toContain("  webhook.failed\n    A  Passed\n    B  not in this run\n");
  expect(text).toContain("  split: missing amount\n    A  400\n    B  422\n");
  expect(text).toContain("5 differences; 5 verdicts and observations compared.");
});

test("escapes control sequences in a report", () => {
  const b = sampleReport([requirement(hostile, "pass")], {
    baseUrl: hostile,
    suiteVersion: hostile,
    observed: [{ requirement: hostile, name: hostile, value: { [hostile]: hostile } }],
  });
  const text = renderComparison(a, b, compareReports(a, b)).replaceAll("\n", "");
  expect(text).not.toMatch(/[\p{Control}\p{Surrogate}\u202a-\u202e]/u);
});
