// Carries a run out: vitest executes the checks, and their reports become one tree.
import { setFlagsFromString } from "node:v8";
import type { Reporter, TestCase } from "vitest/node";
import { createVitest } from "vitest/node";
import { checks, pending, watches } from "../checks/index.ts";
import type { CheckReport } from "./verdicts.ts";
import type { RunOptions } from "../run-options.ts";
import { createProgress, type Output } from "./progress.ts";
import type { Report } from "../results.ts";
import { selectedChecks } from "./selection.ts";
import { buildReport } from "./tree.ts";

/** The checks that a run with these options carries out, watching apart. */
export const plannedChecks = (options: RunOptions) =>
  selectedChecks(
    checks,
    watches.map((watch) => watch.id),
    options,
  );

const here = import.meta.dirname;
const scenarios = `scenarios.run${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`;
/** Every request has its own limit; this one only ends what the suite itself would never end. */
const longestCheckMs = 3_600_000;

/** Takes each check's report as it comes, so that a run which ends early has all until then. */
function collector(progress: ReturnType<typeof createProgress>) {
  const reports: CheckReport[] = [];
  const errors: string[] = [];
  const reporter: Reporter = {
    onTestCaseReady: (test: TestCase) => progress.started(test.name),
    onTestCaseResult(test: TestCase) {
      const report = test.meta().certify;
      progress.finished(test.name, report);
      if (report) reports.push(report);
      else if (test.result().state === "failed") {
        errors.push(`fault of the suite: ${test.name}: ${test.result().errors?.[0]?.message ?? "no reason given"}`);
      }
    },
    onTestRunEnd(modules, unhandled) {
      progress.ended();
      const all = [...modules.flatMap((module) => module.errors()), ...unhandled];
      errors.push(...all.map((error) => `fault of the suite: ${error.message}`));
    },
  };
  return { reports, errors, reporter };
}

/** Vitest ends the process by itself on a signal; here a signal has to leave time for the report. */
function withoutListenersOf<T>(start: () => Promise<T>): Promise<T> {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const own = signals.map((signal) => process.listeners(signal));
  return start().finally(() => {
    for (const [index, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!own[index]?.includes(listener)) process.off(signal, listener);
      }
    }
  });
}

/** Lets vitest run the checks in one worker. */
async function execute(options: RunOptions, reporter: Reporter) {
  const vitest = await withoutListenersOf(() =>
    createVitest("test", {
      config: false,
      root: here,
      dir: here,
      include: [scenarios],
      exclude: [],
      watch: false,
      // An installed suite may lie where nothing can be written.
      cache: false,
      pool: "threads",
      isolate: false,
      fileParallelism: false,
      maxWorkers: 1,
      // Packages that Dredd stands on use what Node has deprecated.
      execArgv: ["--no-warnings"],
      testTimeout: longestCheckMs,
      reporters: [reporter],
      provide: { run: options },
    }),
  );
  await vitest.start();
  await vitest.close();
}

/**
 * Carries a run out and reports it, whatever happens on the way.
 * @param interrupted ends the run early when it aborts; what there is by then is reported
 */
export async function run(options: RunOptions, output: Output, interrupted: AbortSignal): Promise<Report> {
  const startedAt = new Date();
  // Most of what a run allocates is short-lived; without this the process grows to twice the size.
  setFlagsFromString("--max-semi-space-size=1");
  setFlagsFromString("--optimize-for-size");
  const progress = createProgress(output, plannedChecks(options).length + 1);
  const { reports, errors, reporter } = collector(progress);
  const ended = execute(options, reporter);
  const stopped = new Promise<void>((resolve) => {
    interrupted.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([ended, stopped]);
  if (interrupted.aborted) errors.push("The run was interrupted.");
  return buildReport({ options, pending, checks: reports, errors, startedAt, finishedAt: new Date() });
}
