// Tests what `certify watch` says, in each form, to Prometheus, and together with a run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { publish, renderReports } from "../cli/reporting.ts";
import { catalogue, inProfile } from "../contract/requirements.ts";
import { compareReports } from "../report/diff.ts";
import { renderTerminal } from "../report/terminal.ts";
import { readWatched } from "../report/watched.ts";
import { exitCodeOf, type Exchange, type Report } from "../results.ts";
import { requirement, sampleReport, traffic } from "../testing/sample-report.ts";
import { renderMetrics } from "./metrics.ts";
import { openOutlet, type OutletSettings } from "./outlet.ts";
import { watchedReport } from "./report.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";

const folder = mkdtempSync(join(tmpdir(), "certify-watch-"));
afterAll(() => rmSync(folder, { recursive: true }));

const post: Exchange = {
  id: 2,
  at: "2026-11-29T10:00:02.000Z",
  durationMs: 12,
  method: "POST",
  url: "/v1/disbursements",
  requestHeaders: {},
  requestBody: JSON.stringify({ reference: "R-1", phoneNumber: "#a1b2c3" }),
  status: 200,
  responseBody: JSON.stringify({ "data.reference": "DSB2" }),
  curl: "",
};
const first: Exchange = {
  ...post,
  id: 1,
  at: "2026-11-29T10:00:01.000Z",
  responseBody: JSON.stringify({ "data.reference": "DSB1" }),
};
const twice: WatchedRequirement = {
  id: "create.duplicate-refused",
  held: 3,
  contradictions: { count: 14, shown: [{ expected: "409", actual: "200 for R-1 again", exchanges: [first, post] }] },
};
const held: WatchedRequirement = { id: "create.accepted", held: 12_000, contradictions: { count: 0, shown: [] } };
const unseen: WatchedRequirement = { id: "errors.shape", held: 0, contradictions: { count: 0, shown: [] } };

const { from, until, declared, source, ...counts } = traffic;
const resultOf = (requirements: WatchedRequirement[], over: Partial<WatchResult> = {}): WatchResult => ({
  profile: "core",
  ...counts,
  from: Date.parse(from),
  until: Date.parse(until),
  requirements,
  ...over,
});
const circumstances = { source, declared };
const reportOf = (...requirements: WatchedRequirement[]) => watchedReport(resultOf(requirements), circumstances);
const formsOf = (report: Report): Record<string, string> => ({
  terminal: renderTerminal(report, { color: false }),
  ...renderReports(report).contents,
});
const musts = catalogue.filter((each) => inProfile(each, "core") && each.level === "must").length;

test("the terminal shows the exchanges of a contradiction, what was not seen, and how much traffic there was", () => {
  const { terminal } = formsOf(reportOf(twice, held, unseen));
  expect(terminal).toContain(`CONTRADICTED  core · watched traffic · 2 of ${musts} musts seen · \
12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min · https://pay.example
1 requirement contradicted in 12,431 exchanges and 310 webhooks: create.duplicate-refused (14 ×). \
2 of ${musts} musts were seen at work.

✗ create.duplicate-refused  `);
  expect(terminal).toMatch(
    /\n {4}check {5}Contradiction 1 of 14\n {4}request {3}#2 POST \/v1\/disbursements, 200\n {4}expected {2}409\n {4}received {2}200 for R-1 again\n {4}likely {4}POST \/v1\/disbursements is accepted with 200 instead of refused with 409\. There is no unique constraint [^\n]*\n {4}fix {7}[^\n]*\n {4}explain {3}npx --no -- certify explain create\.duplicate-refused\n/,
  );
  expect(terminal).toContain(
    "Limits of this watch: not judged: 12 × a body is cut; a read may show the older state for 5.0 s; webhooks that did not come were not judged (--notified-within)\n",
  );
  expect(terminal).toContain(`1 of ${musts} musts held, 1 contradicted, ${musts - 2} not seen`);
});

test.each<[string, WatchedRequirement[], Partial<WatchResult>, Report["verdict"], number, RegExp]>([
  ["a contradiction", [twice, held], {}, "contradicted", 1, /^1 requirement contradicted/],
  ["no contradiction", [held], { webhooks: 0 }, "no-contradiction", 0, /^No contradiction in 12,431 exchanges; 1 of/],
  [
    "a should that was not met",
    [{ ...twice, id: "errors.checkout-shape" }, held],
    {},
    "no-contradiction",
    0,
    /work\. Shoulds that were not met: errors\.checkout-shape \(14 ×\)\.$/,
  ],
  ["no traffic", [unseen], { exchanges: 0, webhooks: 0, from: 0, until: 0 }, "error", 2, /no exchange .* was seen/],
])("%s is said in every form, and nothing is certified", (_, requirements, over, verdict, exitCode, summary) => {
  const report = watchedReport(resultOf(requirements, over), circumstances);
  expect(report).toMatchObject({ verdict, summary: expect.stringMatching(summary) });
  expect(exitCodeOf(report)).toBe(exitCode);
  for (const [form, text] of Object.entries(formsOf(report)))
    expect([form, text.replace(/<style>[^]*<\/style>/, "")]).not.toEqual([form, expect.stringMatching(/certified/i)]);
});

test.each<[string, RegExp]>([
  ["summary.md", /^!\[conformance: core: contradicted, 2 of \d+ musts seen\]/],
  [
    "junit.xml",
    /<testcase classname="create.duplicate-refused" name="Contradiction 1 of 14"[^]*<failure message="200 for/,
  ],
  ["junit.xml", /<testcase classname="create.accepted" name="Held in 12000 cases" time="0.000">\s*<\/testcase>/],
  ["junit.xml", /classname="errors.shape"[^>]*>\s*<skipped message="No exchange or webhook was a case of it."/],
  ["junit.xml", /Explain: npx --no -- certify explain create\.duplicate-refused/],
  ["report.html", /<dt>Watched traffic<\/dt><dd>12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min</],
  ["report.html", /Cannot be seen in traffic<\/strong> \(\d+\)[^]*Never seen in this traffic<\/strong> \(1\)/],
  ["report.html", /#1, [^]*&quot;data.reference&quot;: ?&quot;DSB1&quot;/],
  ["report.json", /"watched": \{\s*"source": "https:\/\/pay.example",[^]*?"exchanges": 12431,/],
])("%s says %s", (form, text) => {
  expect(formsOf(reportOf(twice, held, unseen))[form]).toMatch(text);
});

test("diff compares two watches, but not what only one of them saw, and names a run beside a watch", () => {
  const { differences, text } = compareReports(reportOf(twice, held), reportOf({ ...held, id: twice.id }, unseen));
  expect([differences, text]).toEqual([1, expect.stringContaining("Not compared: 1 requirement")]);
  expect(compareReports(sampleReport([]), reportOf(held)).text).toContain("differ: a run and watched traffic.");
});

test("Prometheus reads counters by requirement and by reason", () => {
  const text = renderMetrics(resultOf([twice, unseen], { missed: { 'a "cut"\nbody\\': 2 } }));
  expect(text).toMatch(/^# HELP certify_watch_exchanges_total .*\n# TYPE certify_watch_exchanges_total counter\n/);
  expect(text.match(/^\w.*\n/gm)?.join("")).toBe(`certify_watch_exchanges_total 12431
certify_watch_webhooks_total 310
certify_watch_judged_total{requirement="create.duplicate-refused"} 17
certify_watch_judged_total{requirement="errors.shape"} 0
certify_watch_violations_total{requirement="create.duplicate-refused"} 14
certify_watch_violations_total{requirement="errors.shape"} 0
certify_watch_missed_total{reason="a \\"cut\\"\\nbody\\\\"} 2
`);
});

/** Opens an outlet whose output is kept. */
async function opened(result: () => WatchResult, over: Partial<OutletSettings> = {}) {
  const printed: string[] = [];
  for (const name of ["log", "error"] as const)
    vi.spyOn(console, name).mockImplementation((text: string) => void printed.push(text));
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  return { printed, outlet: await openOutlet({ ...circumstances, folder: join(folder, "report"), ...over }, result) };
}
const written = () => JSON.parse(readFileSync(join(folder, "report/report.json"), "utf8")) as Report;

test("metrics are served, and the report is written, while the watch runs and at its end", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let result = resultOf([held]);
  const { printed, outlet } = await opened(() => result, { everyMs: 60_000, metrics: { host: "127.0.0.1", port: 0 } });
  const [, url = ""] = /^Metrics: (http:\S+\/metrics)$/.exec(printed[0]!) ?? [];
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toBe(renderMetrics(result));
  expect((await fetch(new URL("/other", url))).status).toBe(404);
  vi.advanceTimersByTime(60_000);
  await vi.waitFor(() => expect(printed[1]).toMatch(/Z {2}No contradiction in 12,431 exchanges/));
  expect(written()).toMatchObject({ verdict: "no-contradiction" });
  result = resultOf([twice]);
  expect(await outlet.finish()).toBe(1);
  expect(written()).toMatchObject({ verdict: "contradicted" });
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("an address that is in use is named before anything is watched", async () => {
  const metrics = { host: "127.0.0.1", port: 0 };
  const { printed, outlet } = await opened(() => resultOf([held]), { metrics });
  const port = Number(/:(\d+)/.exec(printed[0]!.replace("Metrics: http:", ""))?.[1]);
  await expect(opened(() => resultOf([]), { metrics: { ...metrics, port } })).rejects.toThrow(
    /^--metrics: .*EADDRINUSE/,
  );
  await outlet.finish();
});

const bound = (id: string) => requirement(id, "not-applicable", { reason: { code: "effects", text: "needs money" } });
const run = (...extra: string[]) =>
  sampleReport([requirement("json.answers", "pass"), ...["create.accepted", ...extra].map(bound)], {
    verdict: "passed-partially",
    summary: "The run passed in part.",
    effects: "none",
  });

test("together with a run, the report says which musts were seen at work, and in how much traffic", () => {
  const { report, contents } = renderReports(run("errors.shape"), { watched: reportOf(held, unseen) });
  expect(report).toMatchObject({ verdict: "passed-partially", alsoWatched: { exchanges: 12_431, merchants: 2 } });
  expect(report.requirements[1]).toMatchObject({
    verdict: "not-applicable",
    seen: { held: 12_000, contradicted: 0 },
    reason: { code: "effects", text: "needs money; watched traffic agreed with it" },
  });
  expect(report.requirements[2]).toEqual(bound("errors.shape"));
  expect(report.summary).toMatch(/^The run passed in part\. No contradiction .* 1 of the musts at work that the run/);
  expect(contents["summary.md"]).toMatch(/2 not judged in full, 1 of these seen at work in traffic\./);
  expect(contents["summary.md"]).toMatch(/also watched: 12,431 exchanges and 310 webhooks of 2 merchants in 3 h 2 min/);
  expect(contents["report.html"]).toContain("Watched traffic agreed in 12,000 cases.");
});

test("together with a run, what traffic contradicts has failed", async () => {
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const print = vi.spyOn(console, "log").mockImplementation(() => undefined);
  onTestFinished(() => void vi.restoreAllMocks());
  const reporting = { report: folder, watched: reportOf(twice, held) };
  expect(await publish(run(twice.id), reporting, new Date())).toBe(1);
  expect(print.mock.calls.join("\n")).toMatch(/^Written: .*report\.html/);
  const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as Report;
  expect(report).toMatchObject({
    verdict: "failed",
    summary: "1 requirement contradicted by watched traffic: create.duplicate-refused. The run passed in part.",
    counts: { fail: 1, pass: 1, "not-applicable": 1 },
  });
  expect(report.requirements[2]).toMatchObject({
    verdict: "fail",
    checks: [{ name: "Watched traffic: Contradiction 1 of 14", watched: true, exchanges: [{ status: 200 }, {}] }],
  });
  expect(report.requirements[2]).not.toHaveProperty("reason");
});

test.each<[string, () => Report, RegExp]>([
  ["a run", () => sampleReport([]), /is the report of a run: give the report.json of `certify watch`/],
  ["another contract", () => ({ ...reportOf(), specSha256: "0" }), /is about another version of the contract/],
])("--watched refuses a report of %s", (_, make, message) => {
  const file = join(folder, "other.json");
  writeFileSync(file, JSON.stringify(make()));
  expect(() => readWatched(file)).toThrow(message);
});
