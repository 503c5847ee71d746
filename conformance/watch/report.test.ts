// Tests what `certify watch` says in each form, and together with a run.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { renderReports } from "../cli/reporting.ts";
import { renderTerminal } from "../report/terminal.ts";
import { readWatched } from "../report/watched.ts";
import { exitCodeOf, type Report } from "../results.ts";
import { exchange, requirement, sampleReport, traffic } from "../testing/sample-report.ts";
import { watchedReport } from "./report.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-watch-"));
afterAll(() => rmSync(folder, { recursive: true }));

const exchanges = [1, 2].map((id) => exchange({ id, url: "/v1/disbursements", responseBody: `DSB${id}`, curl: "" }));
const twice: WatchedRequirement = {
  id: "create.duplicate-refused",
  held: 3,
  contradictions: { count: 14, shown: [{ expected: "409", actual: "200 for R-1 again", exchanges }] },
};
const held: WatchedRequirement = { id: "create.accepted", held: 12_000, contradictions: { count: 0, shown: [] } };
const unseen: WatchedRequirement = { id: "errors.shape", held: 0, contradictions: { count: 0, shown: [] } };

const should = "errors.checkout-shape";

const { from, until, declared, source, ...counts } = traffic;
const resultOf = (requirements: WatchedRequirement[], over: Partial<WatchResult> = {}): WatchResult => ({
  profile: "core",
  ...counts,
  from: Date.parse(from),
  until: Date.parse(until),
  requirements,
  ...over,
});
const reportOf = (...requirements: WatchedRequirement[]) => watchedReport(resultOf(requirements), { source, declared });
const formsOf = (report: Report): Record<string, string> => ({
  terminal: renderTerminal(report, { color: false }),
  ...renderReports(report).contents,
});

test("each form says what was contradicted, what held, what was not seen, and how much traffic there was", () => {
  const { terminal, ...forms } = formsOf(reportOf(twice, held, unseen));
  expect(terminal).toMatch(/^CONTRADICTED {2}core · watched traffic · 2 of \d+ musts seen · 12,431 exchanges and 310 /);
  expect(terminal).toContain(`
    check     Contradiction 1 of 14
    request   #2 POST /v1/disbursements, 200
    expected  409
    received  200 for R-1 again
`);
  expect(terminal).toMatch(
    /\nLimits of this watch: not judged: a body is cut \(12 times\); a read may show .* 5.0 s; /,
  );
  expect(terminal).toMatch(/\n1 of \d+ musts held, 1 contradicted, \d+ not seen/);
  expect(forms["summary.md"]).toMatch(/^!\[conformance: core: contradicted, 2 of \d+ musts seen\]/);
  expect(forms["junit.xml"]).toMatch(/name="Contradiction 1 of 14"[^]*<failure message="200 for/);
  expect(forms["junit.xml"]).toMatch(/name="Held in 12,000 cases" time="0.000">\s*<\/testcase>/);
  expect(forms["junit.xml"]).toContain('<skipped message="No exchange or webhook was a case of it."');
  expect(forms["report.html"]).toContain(
    "12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min from 2026-11-29 10:00 UTC<",
  );
  expect(forms["report.html"]).toMatch(/#1, [^]*DSB1[^]*#2, [^]*DSB2[^]*Never seen in this traffic<\/strong> \(1\)/);
});

test.each<[string, WatchedRequirement[], Partial<WatchResult>, Report["verdict"], number, RegExp]>([
  ["a contradiction", [twice, held], {}, "contradicted", 1, /^1 requirement contradicted/],
  ["no contradiction", [held], { webhooks: 0 }, "no-contradiction", 0, /^No contradiction in 12,431 exchanges; 1 of/],
  [
    "an unmet should",
    [{ ...twice, id: should }],
    {},
    "no-contradiction",
    0,
    /not met: errors.checkout-shape \(14 ×\)\.$/,
  ],
  ["no traffic", [unseen], { exchanges: 0, webhooks: 0, from: 0, until: 0 }, "error", 2, /no exchange .* was seen/],
])("%s is said in every form, and nothing is certified", (_, requirements, over, verdict, exitCode, summary) => {
  const report = watchedReport(resultOf(requirements, over), { source, declared });
  expect(report).toMatchObject({ verdict, summary: expect.stringMatching(summary) });
  expect(exitCodeOf(report)).toBe(exitCode);
  for (const text of Object.values(formsOf(report)))
    expect(text.replace(/<style>[^]*<\/style>/, "")).not.toMatch(/certified/i);
});

const bound = (id: string) => requirement(id, "not-applicable", { reason: { code: "effects", text: "needs money" } });
const run = sampleReport([bound(held.id), bound(unseen.id), requirement(twice.id, "pass")], {
  verdict: "passed-partially",
  effects: "none",
  summary: "The run passed in part.",
});

test("together with a run, the report says which musts were seen at work, and in how much traffic", () => {
  const { report, contents } = renderReports(run, { watched: reportOf(held, unseen) });
  const [agreed, ...others] = report.requirements;
  expect(agreed).toMatchObject({
    verdict: "not-applicable",
    seen: { held: 12_000, contradicted: 0 },
    reason: { text: "needs money; watched traffic agreed with it" },
  });
  expect(others).toEqual(run.requirements.slice(1));
  expect(report.verdict).toBe("passed-partially");
  expect(report.summary).toMatch(/^The run passed in part\. No contradiction .* showed 1 must at work that the run/);
  expect(contents["summary.md"]).toMatch(/also watched: 12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min/);
  expect(contents["report.html"]).toContain("Watched traffic agreed in 12,000 cases.");
});

test("together with a run, what traffic contradicts has failed", () => {
  const { report } = renderReports(run, { watched: reportOf(twice, held) });
  expect(report.verdict).toBe("failed");
  expect(report.summary).toMatch("1 requirement contradicted by watched traffic: create.duplicate-refused. The run");
  expect(report.counts).toMatchObject({ fail: 1, pass: 0, "not-applicable": 2 });
  expect(report.requirements[2]).toMatchObject({
    verdict: "fail",
    checks: [{ verdict: "pass" }, { name: "Watched traffic: Contradiction 1 of 14", exchanges: [{ status: 200 }, {}] }],
  });
  // Nobody should repeat what traffic did, and a run without effects pays nothing.
  expect(renderTerminal(report, { color: false })).not.toMatch(/^(Re-run these|Paid)/m);
});

test.each<[string, () => Report, RegExp]>([
  ["a run", () => sampleReport([]), /is the report of a run: give the report.json of `certify watch`/],
  ["another contract", () => ({ ...reportOf(), specSha256: "0" }), /is about another version of the contract/],
])("--watched refuses a report of %s", (_, make, message) => {
  const file = join(folder, "other.json");
  writeFileSync(file, JSON.stringify(make()));
  expect(() => readWatched(file)).toThrow(message);
});
