import { expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import type { CheckReport } from "./verdicts.ts";
import { catalogue } from "../contract/requirements.ts";
import { exitCodeOf, type CheckResult, type NotJudged, type RunVerdict, type Verdict } from "../results.ts";
import { buildReport, sideConditions } from "./tree.ts";

const options = {
  baseUrl: "https://pay.example",
  profile: "core",
  effects: "money",
  maxPayouts: 500,
  maxTotal: 1000,
  seed: 1,
  headers: {},
} as unknown as RunOptions;
const core = catalogue.filter(({ profile }) => profile === "core");
const accepted = "create.accepted";
const notified = "webhook.disbursement-success";

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
  const verdicts = core.map(({ id, level }) => [id, id in over ? over[id] : level === "observe" ? "observed" : "pass"]);
  const results = verdicts.flatMap(([id, verdict]) =>
    verdict === undefined ? [] : [[id, result(verdict as Verdict)]],
  );
  const rest = { notApplicable: {}, created: [], observed: [], payouts: 2, total: 200, found: {} };
  return { results: Object.fromEntries(results) as CheckReport["results"], ...rest, ...more };
}

/** Returns the report of a check that judges everything but one requirement, for this reason. */
const without = (id: string, reason: NotJudged) => everything({ [id]: undefined }, { notApplicable: { [id]: reason } });

function build(checks: CheckReport[], over: Partial<RunOptions> = {}, errors: string[] = []) {
  const conditions = sideConditions({ responseMs: 1000 });
  const [startedAt, finishedAt] = [new Date(0), new Date(1000)];
  const report = buildReport({ options: { ...options, ...over }, conditions, checks, errors, startedAt, finishedAt });
  return { ...report, exitCode: exitCodeOf(report) };
}

const caller = { code: "caller", text: "a webhook receiver (--webhook-url)" } as const;
const target = { code: "target", text: "no sandbox" } as const;
const broken = { error: "broken" };
const falseDeclaration = "--declare: largestAmount: 50000 is not what the target limits";
const falsely = { falseDeclaration, stopped: falseDeclaration };

test.each<[string, CheckReport[], Parameters<typeof build>[1], errors: string[], verdict: RunVerdict, text: RegExp]>([
  ["everything passed", [everything()], {}, [], "certified", /^All \d+ mandatory requirements passed\.$/],
  ["a warning", [everything({ "create.phone-422": "warn" })], {}, [], "certified", /passed/],
  ["what the target cannot do", [without(notified, target)], {}, [], "certified", /not applicable.*: webhook\.disb/],
  ["what the caller did not provide", [without(notified, caller)], {}, [], "passed-partially", /Not provided: a web/],
  ["--only", [everything()], { only: ["errors.shape"] }, [], "passed-partially", /--only left out/],
  ["--effects", [everything({ [accepted]: undefined })], { effects: "reject" }, [], "passed-partially", /not judged/],
  [
    "--only and no verdict",
    [without(accepted, target)],
    { only: [accepted, notified] },
    [],
    "error",
    /judged: create\.accepted: no sandbox\.$/,
  ],
  ["one failure", [everything({ [accepted]: "fail" })], {}, [], "failed", /1 requirement failed: create\.accepted/],
  ["a failure and an error", [everything({ [accepted]: "fail" }, broken)], {}, ["gone"], "failed", /Also: gone/],
  ["a false declaration", [everything({ [accepted]: undefined }, falsely)], {}, [], "failed", /50000 is not what/],
  ["an error in the suite", [everything({}, broken)], {}, [], "error", /broken/],
  ["an interruption", [everything()], {}, ["The run was interrupted."], "error", /interrupted/],
  ["a check that could not run", [everything({ [accepted]: "could-not-run" })], {}, [], "error", /could not be/],
  ["a requirement that no check judged", [everything({ [accepted]: undefined })], {}, [], "error", /could not be/],
  ["no results", [], {}, [], "error", /./],
])("the verdict of a run with %s", (_, checks, over, errors, verdict, text) => {
  const exitCode = { certified: 0, "passed-partially": 0, failed: 1, error: 2 }[verdict as string];
  const report = build(checks, over, errors);
  expect(report).toMatchObject({ verdict, exitCode, summary: expect.stringMatching(text) });
  // A false declaration is no error of the suite.
  if (verdict === "failed" && errors.length === 0) expect(report.errors).toEqual([]);
});

test("the report names the same reason in whichever order the checks ran, first what the caller can provide", () => {
  const both = [without(notified, caller), without(notified, target)];
  for (const checks of [both, both.toReversed()])
    expect(build(checks).notProvided).toEqual([{ what: caller.text, requirements: [notified] }]);
});
