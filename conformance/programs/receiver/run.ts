// Runs scenarios against a receiver and turns their findings into one report.
import { CannotRun } from "../../results.ts";
import type { NotJudged, Report } from "../../results.ts";
import type { Finding } from "../../run/verdicts.ts";
import { judgeProgram, type Judging, type ScenarioRun } from "../run.ts";
import { Context, countText, Shared, type Limits, type Settings } from "./context.ts";
import { eventScenarios } from "./event-scenarios.ts";
import { repeatScenarios } from "./repeat-scenarios.ts";
import { requestScenarios } from "./request-scenarios.ts";
import type { Need, Scenario } from "./scenario.ts";
import { signatureScenarios } from "./signature-scenarios.ts";
import { eventNames } from "./webhook.ts";

/** All scenarios, in the order in which a run executes them. */
export const scenarios: readonly Scenario[] = [
  ...eventScenarios,
  ...signatureScenarios,
  ...requestScenarios,
  ...repeatScenarios,
];

export type ReceiverRun = Settings &
  Judging<Scenario>["options"] &
  Partial<Pick<Judging<Scenario>, "output" | "repeatFlags">>;

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
  "old-secret": ({ secrets }) => secrets.length > 1,
  parallel: ({ isSerial }) => !isSerial,
};

/** Runs one scenario. Its errors are recorded, but an unusable probe or receiver ends the run. */
async function runScenario(run: ReceiverRun, scenario: Scenario, shared: Shared): Promise<ScenarioRun> {
  const unmet = scenario.needs?.find((need) => !has[need](run));
  if (unmet !== undefined) {
    return { findings: [], notApplicable: Object.fromEntries(scenario.ids.map((id) => [id, lacking[unmet]])) };
  }
  const context = new Context(run, shared, scenario);
  const { findings, notApplicable, exchanges } = context;
  let thrown: unknown;
  await scenario.run(context).catch((error: unknown) => void (thrown = error));
  if (thrown instanceof CannotRun) throw thrown;
  // A failure is reported even if the rest of the requirement could not be judged.
  for (const finding of findings) if (!finding.ok) delete notApplicable[finding.id];
  return { findings, notApplicable, exchanges, thrown };
}

/** Judges the effects of all events again, because a receiver may act after it has responded. */
async function judgeEnd({ subject }: Settings, { expectations }: Shared) {
  const counts = Map.groupBy(await subject.effects(), ({ id }) => id);
  const findings = [...expectations.values()].map(({ requirement, event, wanted }): Finding => {
    const found = counts.get(event.id)?.length ?? 0;
    const texts = { expected: countText(wanted), actual: countText(found) };
    return { id: requirement, ok: found === wanted, ...texts, exchanges: [] };
  });
  return { name: "The effects at the end of the run", ids: [...new Set(findings.map(({ id }) => id))], findings };
}

/** Judges a receiver and returns the report. */
export async function runReceiver(run: ReceiverRun): Promise<Report> {
  const shared = new Shared();
  const { subject, limits, events, repeatFlags = [], output, interrupted, ...options } = run;
  const received = events ?? eventNames;
  return judgeProgram({
    side: "receiver",
    target: subject.url,
    scenarios: scenarios.filter((scenario) => (scenario.events ?? []).every((each) => received.includes(each))),
    jobs: 1,
    options,
    waits: { responseMs: limits.timeoutMs, settleMs: limits.settleMs },
    events,
    repeatFlags,
    run: (scenario) => runScenario(run, scenario, shared),
    judgeEnd: () => judgeEnd(run, shared),
    output,
    interrupted,
  });
}
