// Creates the target and the session of a run from its options, executes the checks, and combines the report of each into
// one tree of results.
import { setFlagsFromString } from "node:v8";
import { createLimits } from "../allowances/limits.ts";
import { createVisibility } from "../allowances/visibility.ts";
import { thisMachine, type Outside } from "../recording/outside.ts";
import type { Report } from "../results.ts";
import { realRecipients, type RunOptions } from "../run-options.ts";
import { createBudget } from "../target/ledger.ts";
import { createPerson } from "../target/person.ts";
import { createReceiver } from "../target/receiver.ts";
import { createRedactor, hiddenIn } from "../target/redact.ts";
import { createTarget, type TargetOptions } from "../target/target.ts";
import { checks, watches } from "../topics/index.ts";
import { listens } from "./needs.ts";
import { createProgress, type Output } from "./progress.ts";
import { selectedChecks } from "./selection.ts";
import { createSession } from "./session.ts";
import { buildReport, conditionsOf } from "./tree.ts";
import type { CheckReport } from "./verdicts.ts";

export function openTarget(
  options: Omit<RunOptions, "loopback" | "environment" | "profile" | "controls" | "settleTimeoutMs"> &
    Pick<TargetOptions, "isImpatient">,
  outside: Outside = thisMachine(),
) {
  const { secrets, phones } = hiddenIn(options);
  const http = outside.connect(new URL(options.baseUrl).origin, options.tls);
  const limits = createLimits(options.declared);
  const target = createTarget(
    { ...options, people: realRecipients(options) },
    {
      ...outside,
      http,
      budget: createBudget(options.maxPayouts, options.maxTotal),
      redact: createRedactor(secrets, phones),
      visibility: createVisibility(limits, outside.now),
    },
  );
  return { target, limits, http, close: () => http.close() };
}

/** Creates the session of a run with these options, with a webhook receiver if the options ask for it. */
export async function openSession(options: RunOptions, outside: Outside = thisMachine()) {
  const { target, limits, close } = openTarget(options, outside);
  const { webhookListen: address, webhookUrl: publicUrl } = options;
  const receiver =
    address && listens(options)
      ? await createReceiver({ ...address, publicUrl }, outside.now, outside.listen, target.merchant.mailbox)
      : undefined;
  const person = options.interactive ? createPerson(outside.prompt) : undefined;
  const session = createSession(options, { ...outside, target, limits, receiver, person });
  return {
    session,
    async close() {
      close();
      await receiver?.close();
    },
  };
}

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
