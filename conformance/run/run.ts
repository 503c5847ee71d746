// Executes the checks of a run and combines the report of each check into one tree of results.
import { setFlagsFromString } from "node:v8";
import { checks, watches } from "../topics/index.ts";
import { conditionsOf } from "./tree.ts";
import { openSession } from "./open.ts";
import type { CheckReport } from "./verdicts.ts";
import type { RunOptions } from "../run-options.ts";
import type { Outside } from "../recording/outside.ts";
import { createProgress, type Output } from "./progress.ts";
import type { Report } from "../results.ts";
import { selectedChecks } from "./selection.ts";
import { buildReport } from "./tree.ts";

export const plannedChecks = (options: RunOptions) =>
  selectedChecks(
    checks,
    watches.map((watch) => watch.id),
    options,
  );

/** Executes the planned checks in one session, then the watches. Adds each check's report to `reports`. */
async function execute(options: RunOptions, output: Output, reports: CheckReport[], outside: Outside) {
  const { session, close } = await openSession(options, outside);
  try {
    const planned = [...plannedChecks(options), session.watchAll(watches)];
    const progress = createProgress(output, planned.length);
    for await (const { check, report } of session.runAll(planned, progress.started)) {
      if (outside.interrupted.aborted) break;
      progress.finished(check.name, report);
      reports.push(report);
    }
    progress.ended();
  } finally {
    await close();
  }
}

export async function run(options: RunOptions, output: Output, outside: Outside): Promise<Report> {
  const { interrupted } = outside;
  const startedAt = outside.now();
  // Most allocations of a run are short-lived. Without these flags the process uses twice the memory.
  setFlagsFromString("--max-semi-space-size=4");
  setFlagsFromString("--optimize-for-size");
  const reports: CheckReport[] = [];
  const errors: string[] = [];
  const suiteFailed = (error: unknown) => void errors.push(`error in the suite: ${String(error)}`);
  // A promise that a library leaves unhandled must not end the process before the report is written.
  process.on("unhandledRejection", suiteFailed);
  const stopped = new Promise<void>((resolve) => {
    interrupted.addEventListener("abort", () => resolve(), { once: true });
  });
  // After an interruption, do not wait for the current check: its next response may take long.
  await Promise.race([execute(options, output, reports, outside).catch(suiteFailed), stopped]);
  process.off("unhandledRejection", suiteFailed);
  if (interrupted.aborted) errors.push("The run was interrupted.");
  const conditions = conditionsOf(options);
  return buildReport({ options, conditions, checks: reports, errors, startedAt, finishedAt: outside.now() });
}
