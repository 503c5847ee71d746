import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Prerequisite } from "../check.ts";
import { explain, list } from "../cli/catalogue.ts";
import { readFlags } from "../cli/flags.ts";
import { sideCatalogues } from "../contract/requirements.ts";
import { readReport } from "../report/read.ts";
import { renderTerminal } from "../report/terminal.ts";
import { exitCodeOf } from "../results.ts";
import { runSide, sideOptions, sideOptionsOf } from "./command.ts";
import { scenarioReport, sideReport, type ScenarioRun } from "./report.ts";

const ids = sideCatalogues.client.map(({ id }) => id);

/** A scenario in which all requirements pass, except those in `failed`. */
const scenario = (failed: readonly string[] = [], over: Partial<ScenarioRun> = {}): ScenarioRun => ({
  name: "The response is lost",
  ids,
  findings: ids.map((id) => ({ id, ok: !failed.includes(id), expected: "one payout", actual: "two payouts" })),
  durationMs: 5,
  selectFlags: ["--scenario", "lost"],
  ...over,
});

const report = (runs: readonly ScenarioRun[], over: Partial<Parameters<typeof sideReport>[0]> = {}) =>
  sideReport({
    side: "client",
    target: "node pay.js",
    seed: 7,
    waits: { responseMs: 2000 },
    repeatFlags: ["--command", "'node pay.js'"],
    scenarios: runs.map((run) => scenarioReport("client", run, over.only)),
    errors: [],
    startedAt: new Date(0),
    finishedAt: new Date(1000),
    ...over,
  });

const verdictOf = (...args: Parameters<typeof report>) => {
  const built = report(...args);
  return [built.verdict, exitCodeOf(built)];
};

describe("the verdict on a side", () => {
  test("is certified if every requirement passed in every scenario", () => {
    expect(verdictOf([scenario(), scenario()])).toEqual(["certified", 0]);
  });

  test("is failed if a must failed in one scenario", () => {
    expect(verdictOf([scenario(), scenario(["client.pays-once"])])).toEqual(["failed", 1]);
  });

  test("is certified despite a should that is not met", () => {
    expect(verdictOf([scenario(["client.backs-off"])])).toEqual(["certified", 0]);
  });

  test("is an error if no scenario judged a requirement", () => {
    const some = ids.slice(1);
    const findings = scenario().findings.slice(1);
    expect(verdictOf([scenario([], { ids: some, findings })])).toEqual(["error", 2]);
  });

  test("is an error if the suite failed", () => {
    expect(verdictOf([scenario([], { findings: [], thrown: new Error("a fault") })])).toEqual(["error", 2]);
  });

  test("is failed if the side did not do what a scenario builds on", () => {
    const thrown = new Prerequisite("the client sends requests", "it sent none");
    expect(verdictOf([scenario([], { findings: [], thrown })])).toEqual(["failed", 1]);
  });

  test("is an error if the run ended early", () => {
    expect(verdictOf([scenario()], { errors: ["The run was interrupted."] })).toEqual(["error", 2]);
  });

  test.each([
    ["--only", { only: ["client.pays-once"] }],
    ["scenarios that were left out", { leftOut: "3 scenarios that --scenario leaves out" }],
  ])("is passed in part with %s", (_, over) => {
    expect(verdictOf([scenario()], over)).toEqual(["passed-partially", 0]);
  });
});

const named = (id: string) => ({ name: `What ${id} does`, selectFlags: ["--scenario", id] });

test("the scenarios in which a requirement holds are put together, and the others are listed", () => {
  const runs = [scenario([], named("calm")), scenario(["client.pays-once"]), scenario([], named("late"))];
  const { checks } = report(runs).requirements.find(({ id }) => id === "client.pays-once")!;
  expect(checks).toMatchObject([
    { name: "The response is lost", verdict: "fail", selectFlags: ["--scenario", "lost"] },
    { name: "2 scenarios", verdict: "pass", actual: "as expected in calm, late", durationMs: 10 },
  ]);
});

test("a failure names the other scenarios that show it, and not those that were left out", () => {
  const runs = ["calm", "lost", "late"].map((id) => scenario(["client.pays-once"], named(id)));
  const left = { leftOut: "9 scenarios that --scenario leaves out" };
  const text = renderTerminal(report(runs, left), { color: false });
  expect(text).toContain("check     What calm does, and 2 more checks: lost, late\n");
  expect(text).not.toMatch(/reason +9 scenarios/);
});

test("the report names the side, its target, and how to repeat a failed scenario alone", () => {
  const text = renderTerminal(report([scenario(["client.pays-once"])]), { color: false });
  expect(text).toContain("FAILED  client · 16 of 17 musts · node pay.js");
  expect(text).toContain("certify client --only client.pays-once --seed 7 --command 'node pay.js' --scenario lost");
  expect(text).not.toMatch(/Paid|effects|curl/);
});

describe("the files", () => {
  const folder = mkdtempSync(join(tmpdir(), "certify-side-"));
  afterEach(() => vi.restoreAllMocks());

  test("are those of a run against a service", async () => {
    vi.spyOn(console, "log").mockImplementation(() => undefined);
    const reporting = { folder, baseline: [] };
    expect(await runSide(reporting, async () => report([scenario(["client.pays-once"])]))).toBe(1);
    expect(readReport(join(folder, "report.json"))).toMatchObject({ profile: "client", verdict: "failed" });
    const html = readFileSync(join(folder, "report.html"), "utf8");
    expect(html).toContain("what a program that pays must do");
    expect(html).not.toContain("<dt>Money</dt>");
    expect(readFileSync(join(folder, "junit.xml"), "utf8")).toContain('classname="client.pays-once"');
    expect(readFileSync(join(folder, "summary.md"), "utf8")).toContain("client: failed, 16 of 17 musts");
    rmSync(folder, { recursive: true });
  });
});

const read = (...args: string[]) => {
  const { values, faults } = readFlags(args, sideOptions("client"));
  const options = sideOptionsOf("client", values, ["lost", "late"], () => 9, faults);
  return { options, faults };
};

describe("the options of a side", () => {
  test("have defaults", () => {
    expect(read()).toEqual({
      options: { seed: 9, failFast: false, reporting: { folder: "./certify-report", baseline: [] } },
      faults: [],
    });
  });

  test("select requirements and scenarios", () => {
    const { options } = read("--only", "client.pays-once,client.contract", "--scenario", "late", "--seed", "3");
    expect(options).toMatchObject({ only: ["client.pays-once", "client.contract"], scenarios: ["late"], seed: 3 });
  });

  test.each([
    [
      ["--only", "client.pay-once"],
      '--only: there is no requirement "client.pay-once". Did you mean client.pays-once?',
    ],
    [["--scenario", "lots"], '--scenario: there is no scenario "lots". Did you mean lost or late?'],
    [["--seed", "x"], '--seed must be a whole number from 0 to 2147483647, not "x"'],
    [["--sign", "/nonexistent/key"], "--sign: "],
  ])("%j are refused", (args, message) => {
    expect(read(...args).faults.join("\n")).toContain(message);
  });

  test("an unknown option is refused", () => {
    expect(() => readFlags(["--sceanrio", "x"], sideOptions("client"))).toThrow("Did you mean --scenario?");
  });
});

test("list and explain know the requirements of a side", () => {
  expect(list(["--profile", "client"]).text).toContain("client.pays-once");
  expect(list([]).text).not.toContain("client.pays-once");
  const { text } = explain("client.pays-once");
  expect(text).toContain("No entry is paid more than once");
  expect(text).toContain("certify client --command CMD --only client.pays-once");
  expect(text).toMatch(/In \d+ of \d+ scenarios: calm, /);
});

test("explain knows the scenarios of a side", () => {
  const { text } = explain("sent-twice");
  expect(text).toContain("The network delivers the first request twice");
  expect(text).toContain("client.pays-once");
  expect(text).toContain("certify client --command CMD --scenario sent-twice");
  expect(explain("at-once").text).toContain("certify receiver --url URL --effects-url URL --scenario at-once");
});
