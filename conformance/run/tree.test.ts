import { describe, expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import type { CheckReport } from "./verdicts.ts";
import { catalogue } from "../contract/requirements.ts";
import { exitCodeOf, type CheckResult, type Verdict } from "../results.ts";
import { sideConditions } from "./conditions.ts";
import { buildReport } from "./tree.ts";

const options = {
  baseUrl: "https://pay.example",
  profile: "core",
  effects: "money",
  maxPayouts: 500,
  maxTotal: 1000,
  seed: 1,
  headers: {},
} as unknown as RunOptions;
const core = catalogue.filter(({ profile }) => profile === "core").map(({ id }) => id);
const observed = new Set(catalogue.filter(({ level }) => level === "observe").map(({ id }) => id));

const result = (verdict: Verdict): CheckResult => ({
  name: "a check",
  verdict,
  expected: "e",
  actual: "a",
  exchanges: [],
  durationMs: 1,
});

/**
 * Returns the report of a check that judges every core requirement. All requirements pass, or are observed, except the
 * requirements with another verdict in `over`. Undefined in `over` leaves a requirement without a result.
 */
function everything(over: Record<string, Verdict | undefined> = {}, more: Partial<CheckReport> = {}): CheckReport {
  const verdicts = core.map((id) => [id, id in over ? over[id] : observed.has(id) ? "observed" : "pass"] as const);
  const results = verdicts.flatMap(([id, verdict]) => (verdict === undefined ? [] : [[id, result(verdict)] as const]));
  const rest = { notApplicable: {}, created: [], observed: [], payouts: 2, total: 200, found: {} };
  return { results: Object.fromEntries(results), ...rest, ...more };
}

const build = (checks: CheckReport[], over: Partial<RunOptions> = {}, errors: string[] = [], pending: string[] = []) =>
  buildReport({
    options: { ...options, ...over },
    conditions: sideConditions({ responseMs: 1000 }),
    pending,
    checks,
    errors,
    startedAt: new Date(0),
    finishedAt: new Date(1000),
  });

const outcome = (...args: Parameters<typeof build>) => {
  const report = build(...args);
  return [report.verdict, exitCodeOf(report)];
};

describe("the verdict of a run", () => {
  test("is certified if everything passed", () => {
    expect(outcome([everything()])).toEqual(["certified", 0]);
  });

  test("is certified despite a warning", () => {
    expect(outcome([everything({ "create.phone-422": "warn" })])).toEqual(["certified", 0]);
  });

  test("names what the target cannot be made to do", () => {
    const why = { "webhook.checkout-outcome": { code: "target", text: "no sandbox" } } as const;
    const report = build([everything({ "webhook.checkout-outcome": undefined }, { notApplicable: why })]);
    expect([report.verdict, exitCodeOf(report)]).toEqual(["certified", 0]);
    expect(report.summary).toMatch(/^\d+ of \d+ mandatory requirements were judged, .*webhook\.checkout-outcome\.$/);
  });

  test("passes partially, and names what the caller did not provide", () => {
    const ids = ["webhook.disbursement-success", "webhook.disbursement-failure"];
    const why = { code: "caller", text: "a webhook receiver (--webhook-url)" } as const;
    const notApplicable = Object.fromEntries(ids.map((id) => [id, why]));
    const left = Object.fromEntries(ids.map((id) => [id, undefined]));
    const report = build([everything(left, { notApplicable })]);
    expect([report.verdict, exitCodeOf(report)]).toEqual(["passed-partially", 0]);
    expect(report.notProvided).toEqual([{ what: "a webhook receiver (--webhook-url)", requirements: ids }]);
    expect(report.summary).toContain("Not provided: a webhook receiver (--webhook-url).");
  });

  test("names the same reason in whichever order the checks ran", () => {
    const id = "webhook.disbursement-success";
    const caller = { notApplicable: { [id]: { code: "caller", text: "a webhook receiver" } as const } };
    const target = { notApplicable: { [id]: { code: "target", text: "no sandbox" } as const } };
    const reports = [
      [everything({ [id]: undefined }, caller), everything({ [id]: undefined }, target)],
      [everything({ [id]: undefined }, target), everything({ [id]: undefined }, caller)],
    ].map((checks) => build(checks));
    for (const { verdict, notProvided } of reports)
      expect([verdict, notProvided]).toEqual([
        "passed-partially",
        [{ what: "a webhook receiver", requirements: [id] }],
      ]);
  });

  test.each([
    ["--only", { only: ["errors.shape"] }, {}, []],
    ["--effects", { effects: "reject" } as const, { "create.accepted": undefined }, []],
    ["a pending requirement", {}, { "create.accepted": undefined }, ["create.accepted"]],
  ])("%s leaves something out: passed in part", (_, over, verdicts, pending) => {
    expect(outcome([everything(verdicts)], over, [], pending)).toEqual(["passed-partially", 0]);
  });

  test.each([
    ["caller", "a webhook receiver (--webhook-url)"],
    ["target", "needs a sandbox, and /healthz does not say that this is one"],
  ] as const)(
    "with --only, a requirement that was not judged (%s) is no pass, although others passed",
    (code, text) => {
      const only = ["create.accepted", "webhook.disbursement-success"];
      const notApplicable = { "webhook.disbursement-success": { code, text } };
      const report = build([everything({ "webhook.disbursement-success": undefined }, { notApplicable })], { only });
      expect([report.verdict, exitCodeOf(report)]).toEqual(["error", 2]);
      expect(report.summary).toBe(`1 requirement could not be judged: webhook.disbursement-success: ${text}.`);
      expect(report.counts["could-not-run"]).toBe(1);
    },
  );

  test("marks a passed requirement of which --effects excluded a part", () => {
    const report = build([everything()], { effects: "reject" });
    const accepted = report.requirements.find(({ id }) => id === "create.accepted");
    expect(accepted).toMatchObject({ verdict: "pass", reason: { code: "effects" } });
    expect(report.verdict).toBe("passed-partially");
  });

  test.each([
    ["one failure", everything({ "create.accepted": "fail" }), [], 1],
    [
      "a failure and an error in the suite",
      everything({ "create.accepted": "fail" }, { error: "broken" }),
      ["gone"],
      1,
    ],
    ["an error in the suite", everything({}, { error: "broken" }), [], 2],
    ["an interruption", everything(), ["The run was interrupted."], 2],
    ["a check that could not run", everything({ "create.accepted": "could-not-run" }), [], 2],
    ["a requirement that no check judged", everything({ "create.accepted": undefined }), [], 2],
  ])("%s is no pass", (_, check, errors, code) => {
    expect(outcome([check], {}, errors)).toEqual([code === 1 ? "failed" : "error", code]);
  });

  test("is failed by a false declaration, which is no error of the suite", () => {
    const falseDeclaration = "--declare: largestAmount: 50000 is not what the target limits";
    const report = build([
      everything({ "create.accepted": undefined }, { falseDeclaration, stopped: falseDeclaration }),
    ]);
    expect([report.verdict, exitCodeOf(report), report.errors]).toEqual(["failed", 1, []]);
    expect(report).toMatchObject({ falseDeclaration, summary: expect.stringContaining(falseDeclaration) });
  });

  test("is an error without any results", () => {
    expect(outcome([])).toEqual(["error", 2]);
  });

  test("uses the worst of several checks", () => {
    const report = build([everything(), everything({ "verify.found": "fail" }), everything()]);
    const found = report.requirements.find(({ id }) => id === "verify.found");
    expect([found?.verdict, found?.checks.length]).toEqual(["fail", 3]);
  });
});
