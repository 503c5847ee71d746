// Runs scenarios against a receiver and turns their findings into one report.
import { CannotRun } from "../../results.ts";
import type { NotJudged, Report } from "../../results.ts";
import { createProgress, type Output } from "../../run/progress.ts";
import type { CheckReport, Finding } from "../../run/verdicts.ts";
import { isFailure, mostProgressLines } from "../command.ts";
import { scenarioReport, sideReport, type ScenarioRun } from "../report.ts";
import { countText, createContext, newShared, type Settings, type Shared } from "./context.ts";
import { eventNames } from "./events.ts";
import type { Limits, Need, Scenario } from "./scenario.ts";
import { scenarios as allScenarios } from "./scenarios.ts";

export type ReceiverRun = Settings & {
  /** The ids of the requirements to judge; undefined for all. */
  only?: string[];
  /** The ids of the scenarios to run; undefined for all. */
  scenarios?: readonly string[];
  /** The text from which the seed was derived; undefined without `--challenge`. */
  challenge?: string;
  /** The options, as shell words, that repeat the run. */
  repeatFlags?: string[];
  /** True if the run ends at the first scenario that fails. */
  failFast?: boolean;
  /** Where the progress is shown; by default nowhere. */
  output?: Output;
};

export const defaultLimits: Limits = { timeoutMs: 15_000, settleMs: 5000, pieceMs: 150, repeatMs: 31_000 };

const lacking: Record<Need, NotJudged> = {
  restart: { code: "caller", text: "a command that starts the receiver, to kill it", provide: "--command COMMAND" },
  outage: { code: "caller", text: "a command that makes effects fail", provide: "--outage-command COMMAND" },
  parallel: { code: "target", text: "the receiver reads one request at a time (--serial)" },
  // A receiver with one secret survives a rotation too, because the service signs with both for a day.
  "old-secret": { code: "target", text: "the receiver has one secret (WEBHOOK_SECRET_OLD is not set)" },
};

const has: Record<Need, (run: Settings) => boolean> = {
  restart: ({ subject }) => subject.restart !== undefined,
  outage: ({ subject }) => subject.outage !== undefined,
  "old-secret": ({ oldSecret }) => oldSecret !== undefined,
  parallel: ({ isSerial }) => !isSerial,
};

const timed = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return Math.round(performance.now() - start);
};

/** Runs one scenario. Its errors are recorded, but an unusable probe or receiver ends the run. */
async function runScenario(run: ReceiverRun, scenario: Scenario, shared: Shared): Promise<ScenarioRun> {
  const { id, name, ids, needs = [] } = scenario;
  const selectFlags = ["--scenario", id];
  const unmet = needs.find((need) => !has[need](run));
  if (unmet !== undefined) {
    const notApplicable = Object.fromEntries(ids.map((each) => [each, lacking[unmet]]));
    return { name, ids, findings: [], notApplicable, durationMs: 0, selectFlags };
  }
  const { context, notes } = createContext(run, scenario, shared);
  let thrown: unknown;
  const durationMs = await timed(() => scenario.run(context).catch((error: unknown) => void (thrown = error)));
  if (thrown instanceof CannotRun) throw thrown;
  // A failure is reported even if the rest of the requirement could not be judged.
  for (const finding of notes.findings) if (!finding.ok) delete notes.notApplicable[finding.id];
  return { name, ids, ...notes, durationMs, selectFlags, ...(thrown === undefined ? {} : { thrown }) };
}

/** Judges the effects of all events again, because a receiver may act after it has responded. */
async function judgeEnd({ subject }: Settings, { expectations }: Shared): Promise<ScenarioRun> {
  const findings: Finding[] = [];
  const durationMs = await timed(async () => {
    const counts = Map.groupBy(await subject.effects(), ({ id }) => id);
    for (const { requirement, event, wanted } of expectations.values()) {
      const found = counts.get(event.id)?.length ?? 0;
      const texts = { expected: countText(wanted), actual: countText(found) };
      findings.push({ id: requirement, ok: found === wanted, ...texts, exchanges: [] });
    }
  });
  const ids = [...new Set(findings.map(({ id }) => id))];
  return { name: "The effects at the end of the run", ids, findings, durationMs, selectFlags: [] };
}

/** Returns the scenarios that a run executes. */
const plannedScenarios = ({ only, scenarios, events: received = eventNames }: ReceiverRun): Scenario[] =>
  allScenarios.filter(
    ({ id, ids, events = [] }) =>
      (scenarios?.includes(id) ?? true) &&
      (only === undefined || ids.some((each) => only.includes(each))) &&
      events.every((each) => received.includes(each)),
  );

/** Executes the planned scenarios. Returns why the run ended early; no lines if it did not. */
async function execute(run: ReceiverRun, reports: CheckReport[]): Promise<string[]> {
  const shared = newShared();
  const planned = plannedScenarios(run);
  const progress = run.output && createProgress(run.output, planned.length + 1, { mostLines: mostProgressLines });
  const conclude = (title: string, found: ScenarioRun) => {
    const report = scenarioReport("receiver", found, run.only);
    progress?.finished(title, report);
    reports.push(report);
    return report;
  };
  try {
    for (const scenario of planned) {
      if (run.interrupted?.aborted) return ["The run was interrupted."];
      const title = `${scenario.id}: ${scenario.name}`;
      progress?.started(title);
      const report = conclude(title, await runScenario(run, scenario, shared));
      if (run.failFast && isFailure(report)) return [];
    }
    const end = await judgeEnd(run, shared);
    conclude(end.name, end);
    return [];
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    return [error.message];
  } finally {
    progress?.ended();
  }
}

/** Judges a receiver and returns the report. */
export async function runReceiver(run: ReceiverRun): Promise<Report> {
  const startedAt = new Date();
  const reports: CheckReport[] = [];
  const errors = await execute(run, reports);
  const leavesOut = run.scenarios ?? (run.failFast && reports.some(isFailure));
  const { subject, only, scenarios, seed, challenge, limits, events, repeatFlags = [] } = run;
  return sideReport({
    side: "receiver",
    target: subject.url,
    ...(only ? { only } : {}),
    ...(leavesOut ? { leftOut: `the scenarios that ${scenarios ? "--scenario" : "--fail-fast"} leaves out` } : {}),
    seed,
    ...(challenge === undefined ? {} : { challenge }),
    waits: { responseMs: limits.timeoutMs, settleMs: limits.settleMs },
    ...(events ? { events } : {}),
    repeatFlags,
    scenarios: reports,
    errors,
    startedAt,
    finishedAt: new Date(),
  });
}
