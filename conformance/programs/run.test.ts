import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testFolder } from "../../server/testing/resources.ts";
import { explain, list } from "../cli/catalogue.ts";
import { sideCatalogues } from "../contract/requirements.ts";
import { readReport } from "../report/json.ts";
import { renderTerminal } from "../report/terminal.ts";
import { CannotRun, exitCodeOf } from "../results.ts";
import { runSide } from "./command.ts";
import { judgeProgram, type Described, type Judging, type ScenarioRun } from "./run.ts";

const ids = sideCatalogues.client.map(({ id }) => id);

/** A scenario, and what a run finds in it. */
type Tried = Described & ScenarioRun;

/** A scenario in which all requirements pass, except those in `failed`. */
const scenario = (id: string, failed: readonly string[] = [], over: Partial<Tried> = {}): Tried => ({
  id,
  name: `What ${id} does`,
  ids,
  findings: ids.map((each) => ({
    id: each,
    ok: !failed.includes(each),
    expected: "one payout",
    actual: "two payouts",
  })),
  ...over,
});

const judge = (scenarios: readonly Tried[], over: Partial<Judging<Tried>> = {}) =>
  judgeProgram({
    side: "client",
    target: "node pay.js",
    scenarios,
    jobs: 2,
    options: { seed: 7 },
    waits: { responseMs: 2000 },
    repeatFlags: ["--command", "'node pay.js'"],
    run: async (tried) => tried,
    ...over,
  });

const calm = scenario("calm");
const withoutFirst = scenario("calm", [], { ids: ids.slice(1), findings: calm.findings.slice(1) });
const paysTwice = scenario("lost", ["client.pays-once"]);

test.each<[string, Tried[], Partial<Judging<Tried>>, string, number]>([
  ["every requirement passed in every scenario", [calm, scenario("late")], {}, "certified", 0],
  ["no scenario judged a requirement", [withoutFirst], {}, "error", 2],
  ["the run ended early", [calm], { run: () => Promise.reject(new CannotRun("no program")) }, "error", 2],
  ["the run was interrupted", [calm], { interrupted: AbortSignal.abort() }, "error", 2],
  ["--only chose requirements", [calm], { options: { seed: 7, only: ["client.pays-once"] } }, "passed-partially", 0],
  [
    "--scenario chose scenarios",
    [calm, paysTwice],
    { options: { seed: 7, scenarios: ["calm"] } },
    "passed-partially",
    0,
  ],
])("if %s, the verdict is right", async (_, runs, over, verdict, exitCode) => {
  const report = await judge(runs, over);
  expect([report.verdict, exitCodeOf(report)]).toEqual([verdict, exitCode]);
});

test("with --fail-fast, a run ends at the first failure and says what it left out", async () => {
  let ended: AbortSignal | undefined;
  const { verdict, notProvided } = await judge([calm, paysTwice, scenario("late")], {
    jobs: 1,
    options: { seed: 7, failFast: true },
    run: async (tried, signal) => ((ended = signal), tried),
  });
  expect([verdict, ended!.aborted]).toEqual(["failed", true]);
  expect(notProvided[0]).toMatchObject({ what: "1 scenario that --fail-fast leaves out" });
});

test("the report lists failures with the command that repeats them alone, and merges what passed", async () => {
  const report = await judge([calm, paysTwice, scenario("late"), scenario("dropped", ["client.pays-once"])]);
  const { checks } = report.requirements.find(({ id }) => id === "client.pays-once")!;
  expect(checks.map(({ name, verdict, actual }) => [name, verdict, actual])).toEqual([
    ["What lost does", "fail", "two payouts"],
    ["What dropped does", "fail", "two payouts"],
    ["2 scenarios", "pass", "as expected in calm, late"],
  ]);
  const text = renderTerminal(report, { color: false });
  expect(text).toContain("FAILED  client · 16 of 17 musts · node pay.js");
  expect(text).toContain("check     What lost does, and 1 more check: dropped\n");
  expect(text).toContain("certify client --only client.pays-once --seed 7 --command 'node pay.js' --scenario lost");
  expect(text).not.toMatch(/Paid|effects|curl/);
});

test("a run writes its files, and at most 40 lines if everything fails and the output is not a terminal", async () => {
  const folder = testFolder();
  let text = "";
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(process.stdout, "write").mockImplementation((part) => (text += part) !== "");
  vi.spyOn(console, "log").mockImplementation((line: string) => void (text += `${line}\n`));
  const output = { write: (part: string) => process.stdout.write(part) };
  const findings = ids.map((id) => ({ id, ok: false, expected: `what ${id} says`, actual: `not what ${id} says` }));
  const runs = Array.from({ length: 20 }, (_, index) => scenario(`story-${index}`, ids, { findings }));
  expect(await runSide({ report: folder }, () => judge(runs, { output }))).toBe(1);
  expect(text.trim().split("\n").length).toBeLessThanOrEqual(40);
  expect(text).toMatch(/Also \(see report\.html\): client\.[\s\S]*\nRe-run these: .* story-0,story-1,.*\n/);
  expect(readReport(join(folder, "report.json"))).toMatchObject({ profile: "client", verdict: "failed" });
  expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("what a program that pays must do");
  expect(readFileSync(join(folder, "junit.xml"), "utf8")).toContain('classname="client.pays-once"');
  expect(readFileSync(join(folder, "summary.md"), "utf8")).toContain("client: failed, 0 of 17 musts");
});

test("list and explain know the requirements and scenarios of programs", () => {
  expect(list(["--profile", "client"]).text).toContain("client.pays-once");
  expect(list([]).text).not.toContain("client.pays-once");
  const { text } = explain("client.pays-once");
  expect(text).toContain("certify client --command CMD --only client.pays-once");
  expect(text).toMatch(/In \d+ of \d+ scenarios: calm, |, calm, /);
  expect(explain("at-once").text).toContain("certify receiver --url URL --effects-url URL --scenario at-once");
});
