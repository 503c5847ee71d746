// `certify` executes this file with vitest, in one worker thread. Each check is one test, and all checks share one
// session.
import { afterAll, expect, inject, test } from "vitest";
import { checks, watches } from "../checks/index.ts";
import { openSession } from "./open.ts";
import type { CheckReport } from "./verdicts.ts";
import type { RunOptions } from "../run-options.ts";
import { selectedChecks } from "./selection.ts";

declare module "vitest" {
  interface ProvidedContext {
    run: RunOptions;
  }
  interface TaskMeta {
    certify?: CheckReport;
  }
}

const options = inject("run");
const { session, close } = await openSession(options);
afterAll(close);

const watched = session.watchAll(watches);
for (const check of [...selectedChecks(checks, watched.ids, options), watched]) {
  test(`${check.name}`, async ({ task }) => {
    const report = await session.runCheck(check);
    task.meta.certify = report;
    expect(report.error).toBeUndefined();
  });
}
