// Runs the checks with vitest and combines the report of each check into one tree of results.
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

/** Returns the checks that a run with these options executes, without the watches. */
export const plannedChecks = (options: RunOptions) =>
  selectedChecks(
    checks,
    watches.map((watch) => watch.id),
    options,
  );

const here = import.meta.dirname;
const scenarios = `scenarios.run${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`;
/**
 * The time limit of a check. It ends only a check in which the suite itself hangs, because requests have their own
 * limit.
 */
const longestCheckMs = 3_600_000;

/** Collects the report of each check when the check finishes, so that an interrupted run still has the results so far. */
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
        errors.push(`error in the suite: ${test.name}: ${test.result().errors?.[0]?.message ?? "unknown reason"}`);
      }
    },
    onTestRunEnd(modules, unhandled) {
      progress.ended();
      const all = [...modules.flatMap((module) => module.errors()), ...unhandled];
      errors.push(...all.map((error) => `error in the suite: ${error.message}`));
    },
  };
  return { reports, errors, reporter };
}

/** Removes the signal listeners that `start` adds, because vitest's would exit before the report is written. */
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

/** Runs the checks with vitest, in one worker thread. */
async function execute(options: RunOptions, reporter: Reporter) {
  const vitest = await withoutListenersOf(() =>
    createVitest("test", {
      config: false,
      root: here,
      dir: here,
      include: [scenarios],
      exclude: [],
      watch: false,
      // The installed package may be in a read-only location.
      cache: false,
      pool: "threads",
      isolate: false,
      fileParallelism: false,
      maxWorkers: 1,
      // Dredd's dependencies use deprecated Node APIs, for which Node would print warnings.
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
 * Executes a run and returns its report. An interrupted run also returns one, with the results so far.
 * @param interrupted when aborted, ends the run early
 */
export async function run(options: RunOptions, output: Output, interrupted: AbortSignal): Promise<Report> {
  const startedAt = new Date();
  // Most allocations of a run are short-lived. Without these flags the process uses twice the memory.
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
