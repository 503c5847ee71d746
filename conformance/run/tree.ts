// Assembles the results of all checks into the report.
import { specSha256, suiteVersion } from "../contract/contract.ts";
import { permits } from "../target/ledger.ts";
import { reachOf } from "../topics/create/checks.ts";
import { judgedByReads, lackOf } from "./needs.ts";
import type { CheckReport } from "./verdicts.ts";
import { allControls, controls, hasControl, type RunOptions } from "../run-options.ts";
import { counted, namedFirst } from "../report/words.ts";
import { requirementsOf } from "../contract/requirements.ts";
import {
  countsOf,
  worstOf,
  type CheckResult,
  type Conditions,
  type CreatedRecord,
  type NotJudged,
  type NotProvided,
  type Report,
  type Requirement,
  type RequirementResult,
} from "../results.ts";

type Settings = Pick<Report, "baseUrl" | "profile" | "effects" | "only" | "seed" | "challenge" | "repeatFlags"> &
  Pick<RunOptions, "payout" | "declared" | "maxPayouts" | "maxTotal">;

export type FinishedRun = {
  options: Settings;
  conditions: Conditions;
  checks: readonly CheckReport[];
  /** The errors in the suite, and the reason if the run ended early. */
  errors: readonly string[];
  startedAt: Date;
  finishedAt: Date;
};

/** Returns the reason why no further request was sent; undefined if the run was not stopped. */
const stoppedBy = (run: FinishedRun) => run.checks.find((check) => check.stopped)?.stopped;

/** The order in which reasons count, whatever the order of the checks: first what the caller can remove. */
const weights: readonly NotJudged["code"][] = ["caller", "effects", "stopped", "only", "target"];

/** Returns the reason that the checks of a requirement gave for not judging it; undefined if they gave no reason. */
function namedReason(id: string, { checks }: FinishedRun): NotJudged | undefined {
  return checks
    .flatMap((check) => check.notApplicable[id] ?? [])
    .toSorted((a, b) => weights.indexOf(a.code) - weights.indexOf(b.code) || a.text.localeCompare(b.text))[0];
}

/** Returns the verdict on a requirement, and the reason if it was not judged, or not in full. */
function verdictOn(
  { id, effect }: Requirement,
  checks: readonly CheckResult[],
  run: FinishedRun,
): Pick<RequirementResult, "verdict" | "reason"> {
  const { only, effects, payout } = run.options;
  const stopped = stoppedBy(run);
  const named = namedReason(id, run);
  if (checks.length === 0) {
    const lacking = permits(effects, effect) ? undefined : lackOf(run.options, id);
    const reason = named ?? (lacking === undefined ? undefined : ({ code: "effects", text: lacking } as const));
    // `--only` asked for this requirement, so a run without a verdict on it has not done its work.
    if (reason) return { verdict: only ? "could-not-run" : "not-applicable", reason };
    const text = stopped ?? "the run ended before its checks";
    return { verdict: "could-not-run", reason: { code: "stopped", text } };
  }
  const verdict = worstOf(checks.map((check) => check.verdict));
  if (verdict === "could-not-run" && stopped !== undefined)
    return { verdict, reason: { code: "stopped", text: stopped } };
  if (!permits(effects, effect) && !(payout !== undefined && judgedByReads.has(id)))
    return { verdict, reason: { code: "effects", text: `judged only as far as --effects ${effects} allows` } };
  // A check may have been left out because the caller did not provide something, and it might have failed.
  return { verdict, reason: named?.code === "caller" ? named : undefined };
}

function requirementResult(requirement: Requirement, run: FinishedRun): RequirementResult {
  if (run.options.only?.includes(requirement.id) === false) {
    const reason = { code: "only", text: "excluded by --only" } as const;
    return { ...requirement, verdict: "not-applicable", reason, checks: [] };
  }
  const checks = run.checks.flatMap((check) => check.results[requirement.id] ?? []);
  return { ...requirement, ...verdictOn(requirement, checks, run), checks };
}

const firstIds = (requirements: readonly RequirementResult[]) => namedFirst(requirements.map(({ id }) => id));

/** Lists what the caller did not provide, in the order in which the requirements need it. */
function notProvided(requirements: readonly RequirementResult[]): NotProvided[] {
  const lacking = requirements.filter(({ reason }) => reason?.code === "caller");
  const byText = Map.groupBy(lacking, ({ reason }) => reason!.text);
  return [...byText].map(([what, unjudged]) => {
    const { provide } = unjudged[0]!.reason!;
    return { what, provide, requirements: unjudged.map(({ id }) => id) };
  });
}

/** Returns the verdict on the run and one sentence that explains it. */
function runVerdict(
  requirements: readonly RequirementResult[],
  error: string | undefined,
  falseDeclaration: string | undefined,
): Pick<Report, "verdict" | "summary"> {
  const failed = requirements.filter(({ verdict }) => verdict === "fail");
  const notRun = requirements.filter(({ verdict }) => verdict === "could-not-run");
  const judged = requirements.filter(({ checks }) => checks.length > 0);
  const musts = requirements.filter(({ level }) => level === "must");
  const incomplete = musts.filter(({ reason }) => reason);
  const open = incomplete.filter(({ reason }) => reason?.code !== "target");

  if (failed.length > 0) {
    const more = notRun.length > 0 ? `${notRun.length} more could not be judged` : undefined;
    const also = falseDeclaration ?? error ?? more;
    const summary = `${counted(failed.length, "requirement")} failed: ${firstIds(failed)}.`;
    return { verdict: "failed", summary: also === undefined ? summary : `${summary} Also: ${also}` };
  }
  if (falseDeclaration !== undefined) {
    const summary = `A declared limit is false, so the run ended before its checks. ${falseDeclaration}.`;
    return { verdict: "failed", summary };
  }
  if (error !== undefined) return { verdict: "error", summary: error };
  if (notRun.length > 0) {
    const why = notRun.find(({ reason }) => reason && reason.code !== "stopped")?.reason?.text;
    const summary = `${counted(notRun.length, "requirement")} could not be judged: ${firstIds(notRun)}`;
    return { verdict: "error", summary: why === undefined ? `${summary}.` : `${summary}: ${why}.` };
  }
  if (judged.length === 0) {
    const missing = notProvided(requirements).map(({ what }) => what);
    const why = missing.length > 0 ? `not provided: ${missing.join("; ")}` : "nothing was selected";
    return { verdict: "error", summary: `Nothing was judged: ${why}.` };
  }
  if (open.length > 0) {
    const isOnly = open.every(({ reason }) => reason?.code === "only");
    const missing = notProvided(open).map(({ what }) => ` Not provided: ${what}.`);
    const summary = isOnly
      ? `All ${judged.length} selected requirements passed. --only left out ${open.length} of ${musts.length} musts, so nothing is certified.`
      : `All ${judged.length} judged requirements passed; ${open.length} were not judged in full: ${firstIds(open)}.${missing.join("")}`;
    return { verdict: "passed-partially", summary };
  }
  if (incomplete.length === 0)
    return { verdict: "certified", summary: `All ${musts.length} mandatory requirements passed.` };
  const passed = `${musts.length - incomplete.length} of ${musts.length} mandatory requirements were judged, and all of them passed.`;
  const left = `${incomplete.length} are not applicable to this target: ${firstIds(incomplete)}.`;
  return { verdict: "certified", summary: `${passed} ${left}` };
}

const largestOf = (created: readonly CreatedRecord[]) =>
  created.reduce((most, { kind, amount = 0 }) => (kind === "disbursement" ? Math.max(most, amount) : most), 0);

function dreddOf(judged: CheckReport["dredd"] = {}): Report["dredd"] {
  const names = Object.keys(judged);
  return names.length > 0 ? { transactions: names.length, failed: names.filter((name) => !judged[name]) } : undefined;
}

export function buildReport(run: FinishedRun): Report {
  const { options, checks } = run;
  const requirements = requirementsOf(options.profile).map((requirement) => requirementResult(requirement, run));
  const last = checks.at(-1);
  const created = checks.flatMap((check) => check.created);
  const harness = checks.flatMap((check) => (check.error === undefined ? [] : `error in the suite: ${check.error}`));
  const falseDeclaration = checks.find((check) => check.falseDeclaration !== undefined)?.falseDeclaration;
  const stopped = falseDeclaration === undefined ? stoppedBy(run) : undefined;
  const errors = [...(stopped === undefined ? [] : [stopped]), ...run.errors, ...harness];
  return {
    ...runVerdict(requirements, errors[0], falseDeclaration),
    profile: options.profile,
    effects: options.effects,
    baseUrl: options.baseUrl,
    specSha256,
    suiteVersion: suiteVersion(),
    startedAt: run.startedAt.toISOString(),
    finishedAt: run.finishedAt.toISOString(),
    counts: countsOf(requirements),
    requirements,
    created,
    observed: checks.flatMap((check) => check.observed),
    declared: options.declared,
    falseDeclaration,
    foundLimits: last && Object.keys(last.found).length > 0 ? last.found : undefined,
    notProvided: notProvided(requirements),
    budget: {
      payouts: last?.payouts ?? 0,
      maxPayouts: options.maxPayouts,
      total: last?.total ?? 0,
      maxTotal: Number.isFinite(options.maxTotal) ? options.maxTotal : null,
      largestAmount: largestOf(created),
    },
    conditions: run.conditions,
    dredd: dreddOf(last?.dredd),
    secondOpinion: last?.secondOpinion,
    seed: options.seed,
    challenge: options.challenge,
    repeatFlags: options.repeatFlags,
    only: options.only,
    errors,
  };
}

/** A certificate repeats the conditions of its run, because some are more lenient than others. */
export function conditionsOf(options: RunOptions): Conditions {
  return {
    headers: Object.keys(options.headers)
      .map((name) => name.toLowerCase())
      .toSorted(),
    rate: options.rate ?? null,
    waits: { responseMs: options.timeoutMs, settleMs: options.settleTimeoutMs, lingerMs: options.linger * 1000 },
    sandbox: {
      environment: options.environment ?? null,
      missing: allControls.filter((control) => !hasControl(options, control)).map((control) => controls[control]),
    },
    untriedAmounts: reachOf(options).untried,
    events: null,
  };
}

/** Returns the conditions of a run that judges a merchant's program, for which the suite plays the service. */
export const sideConditions = (waits: Conditions["waits"], events?: readonly string[]): Conditions => ({
  headers: [],
  rate: null,
  waits,
  sandbox: { environment: null, missing: [] },
  untriedAmounts: 0,
  events: events ? [...events] : null,
});
