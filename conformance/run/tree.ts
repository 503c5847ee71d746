// Assembles the results of all checks into the report.
import { specSha256, suiteVersion } from "../contract/contract.ts";
import { permits } from "../target/ledger.ts";
import type { CheckReport } from "./verdicts.ts";
import type { RunOptions } from "../run-options.ts";
import { counted } from "../report/words.ts";
import { requirementsOf } from "../contract/requirements.ts";
import {
  worstOf,
  type Conditions,
  type CreatedRecord,
  type NotJudged,
  type NotProvided,
  type Report,
  type Requirement,
  type RequirementResult,
  type Verdict,
} from "../results.ts";

/** What the report says about the settings of a run. */
type Settings = Pick<Report, "baseUrl" | "profile" | "effects" | "only" | "seed" | "challenge" | "repeatFlags"> &
  Pick<RunOptions, "declared" | "maxPayouts" | "maxTotal">;

export type FinishedRun = {
  options: Settings;
  conditions: Conditions;
  /** The ids of the requirements that have no check yet. */
  pending: readonly string[];
  checks: readonly CheckReport[];
  /** The errors in the suite, and the reason if the run ended early. */
  errors: readonly string[];
  startedAt: Date;
  finishedAt: Date;
};

/** Returns the reason why no further request was sent; undefined if the run was not stopped. */
const stoppedBy = (run: FinishedRun) => run.checks.find((check) => check.stopped)?.stopped;

/** Returns why a declared limit is false; undefined if none was found to be false. */
const falseDeclarationOf = (run: FinishedRun) =>
  run.checks.find((check) => check.falseDeclaration !== undefined)?.falseDeclaration;

/** The order in which reasons count, so that it does not depend on the order of the checks: first what can be provided. */
const weights: readonly NotJudged["code"][] = ["caller", "effects", "stopped", "only", "pending", "target"];

/** Returns the reason that the checks of a requirement gave for not judging it; undefined if they gave none. */
function namedReason(id: string, { checks }: FinishedRun): NotJudged | undefined {
  return checks
    .flatMap((check) => check.notApplicable[id] ?? [])
    .toSorted((a, b) => weights.indexOf(a.code) - weights.indexOf(b.code) || a.text.localeCompare(b.text))[0];
}

function whyNotJudged(requirement: Requirement, run: FinishedRun): { verdict: Verdict; reason: NotJudged } {
  const { options } = run;
  const named = namedReason(requirement.id, run);
  if (options.only && !options.only.includes(requirement.id)) {
    return { verdict: "not-applicable", reason: { code: "only", text: "excluded by --only" } };
  }
  // `--only` asked for this requirement, so a run without a verdict on it has not done its work.
  const verdict = options.only ? "could-not-run" : "not-applicable";
  if (named) return { verdict, reason: named };
  if (run.pending.includes(requirement.id)) {
    return {
      verdict,
      reason: { code: "pending", text: "pending: the suite has no check for this requirement yet" },
    };
  }
  if (!permits(options.effects, requirement.effect)) {
    const text = `needs more than --effects ${options.effects}`;
    return { verdict, reason: { code: "effects", text } };
  }
  const text = stoppedBy(run) ?? "the run ended before its checks";
  return { verdict: "could-not-run", reason: { code: "stopped", text } };
}

const fromCaller = (reason: NotJudged | undefined): reason is NotJudged => reason?.code === "caller";

function requirementResult(requirement: Requirement, run: FinishedRun): RequirementResult {
  const leftOut = run.options.only?.includes(requirement.id) === false;
  const checks = leftOut ? [] : run.checks.flatMap((check) => check.results[requirement.id] ?? []);
  if (checks.length === 0) return { ...requirement, ...whyNotJudged(requirement, run), checks };
  const verdict = worstOf(checks.map((check) => check.verdict));
  const stopped = verdict === "could-not-run" ? stoppedBy(run) : undefined;
  if (stopped !== undefined) return { ...requirement, verdict, reason: { code: "stopped", text: stopped }, checks };
  const { effects } = run.options;
  if (permits(effects, requirement.effect)) {
    // A check may have been left out because the caller did not provide something, and it might have failed.
    const lacking = namedReason(requirement.id, run);
    return { ...requirement, verdict, ...(fromCaller(lacking) ? { reason: lacking } : {}), checks };
  }
  const text = `judged only as far as --effects ${effects} allows`;
  return { ...requirement, verdict, reason: { code: "effects", text }, checks };
}

const firstIds = (requirements: readonly RequirementResult[]) => {
  const ids = requirements.slice(0, 3).map((requirement) => requirement.id);
  return ids.join(", ") + (requirements.length > 3 ? ` and ${requirements.length - 3} more` : "");
};

/** Lists what the caller did not provide, in the order in which the requirements need it. */
function notProvided(requirements: readonly RequirementResult[]): NotProvided[] {
  const lacking = requirements.filter(({ reason }) => reason?.code === "caller");
  const byText = Map.groupBy(lacking, ({ reason }) => reason!.text);
  return [...byText].map(([what, each]) => {
    const { provide } = each[0]!.reason!;
    return { what, ...(provide === undefined ? {} : { provide }), requirements: each.map(({ id }) => id) };
  });
}

/** Returns the verdict on the run and one sentence that explains it. */
function runVerdict(
  requirements: readonly RequirementResult[],
  errors: readonly string[],
  falseDeclaration: string | undefined,
): Pick<Report, "verdict" | "summary"> {
  const having = (verdict: Verdict) => requirements.filter((requirement) => requirement.verdict === verdict);
  const failed = having("fail");
  const notRun = having("could-not-run");
  if (failed.length > 0) {
    const also =
      falseDeclaration ?? errors[0] ?? (notRun.length > 0 ? `${notRun.length} more could not be judged` : undefined);
    return {
      verdict: "failed",
      summary: `${counted(failed.length, "requirement")} failed: ${firstIds(failed)}.${also ? ` Also: ${also}` : ""}`,
    };
  }
  if (falseDeclaration !== undefined) {
    return {
      verdict: "failed",
      summary: `A declared limit is false, so the run ended before its checks. ${falseDeclaration}.`,
    };
  }
  if (errors[0] !== undefined) return { verdict: "error", summary: errors[0] };
  if (notRun.length > 0) {
    const why = notRun.find(({ reason }) => reason && reason.code !== "stopped")?.reason?.text;
    const summary = `${counted(notRun.length, "requirement")} could not be judged: ${firstIds(notRun)}`;
    return { verdict: "error", summary: why === undefined ? `${summary}.` : `${summary}: ${why}.` };
  }
  const judged = requirements.filter((requirement) => requirement.checks.length > 0);
  const missing = notProvided(requirements).map(({ what }) => what);
  if (judged.length === 0) {
    const why = missing.length > 0 ? `not provided: ${missing.join("; ")}` : "nothing was selected";
    return { verdict: "error", summary: `Nothing was judged: ${why}.` };
  }
  const musts = requirements.filter((requirement) => requirement.level === "must");
  const open = musts.filter(({ reason }) => reason && reason.code !== "target");
  const excluded = musts.filter(({ reason }) => reason?.code === "only");
  if (excluded.length > 0 && excluded.length === open.length) {
    const left = `--only left out ${excluded.length} of ${musts.length} musts, so nothing is certified.`;
    return { verdict: "passed-partially", summary: `All ${judged.length} selected requirements passed. ${left}` };
  }
  if (open.length > 0) {
    return {
      verdict: "passed-partially",
      summary:
        `All ${judged.length} judged requirements passed; ${open.length} were not judged in full: ${firstIds(open)}.` +
        notProvided(open)
          .map(({ what }) => ` Not provided: ${what}.`)
          .join(""),
    };
  }
  const named = musts.filter(({ reason }) => reason);
  const passed =
    named.length > 0
      ? `${musts.length - named.length} of ${musts.length} mandatory requirements were judged, and all of them passed. ` +
        `${named.length} are not applicable to this target: ${firstIds(named)}.`
      : `All ${musts.length} mandatory requirements passed.`;
  return { verdict: "certified", summary: passed };
}

/** Returns the largest amount of a payout; 0 if there is none. */
const largestOf = (created: readonly CreatedRecord[]) =>
  created.reduce((most, { kind, amount = 0 }) => (kind === "disbursement" ? Math.max(most, amount) : most), 0);

/** Builds the report of a run, whether or not the run was complete. */
export function buildReport(run: FinishedRun): Report {
  const { options, checks } = run;
  const requirements = requirementsOf(options.profile).map((one) => requirementResult(one, run));
  const counts = { pass: 0, fail: 0, warn: 0, observed: 0, "not-applicable": 0, "could-not-run": 0 };
  for (const { verdict } of requirements) counts[verdict] += 1;
  const last = checks.at(-1);
  const created = checks.flatMap((check) => check.created);
  const harness = checks.flatMap((check) => (check.error === undefined ? [] : `error in the suite: ${check.error}`));
  const falseDeclaration = falseDeclarationOf(run);
  const stopped = falseDeclaration === undefined ? stoppedBy(run) : undefined;
  const errors = [...(stopped === undefined ? [] : [stopped]), ...run.errors, ...harness];
  return {
    ...runVerdict(requirements, errors, falseDeclaration),
    profile: options.profile,
    effects: options.effects,
    baseUrl: options.baseUrl,
    specSha256,
    suiteVersion: suiteVersion(),
    startedAt: run.startedAt.toISOString(),
    finishedAt: run.finishedAt.toISOString(),
    counts,
    requirements,
    created,
    observed: checks.flatMap((check) => check.observed),
    pending: requirements.filter(({ reason }) => reason?.code === "pending").map(({ id }) => id),
    ...(options.declared ? { declared: options.declared } : {}),
    ...(falseDeclaration === undefined ? {} : { falseDeclaration }),
    ...(last && Object.keys(last.found).length > 0 ? { foundLimits: last.found } : {}),
    notProvided: notProvided(requirements),
    budget: {
      payouts: last?.payouts ?? 0,
      maxPayouts: options.maxPayouts,
      total: last?.total ?? 0,
      maxTotal: Number.isFinite(options.maxTotal) ? options.maxTotal : null,
      largestAmount: largestOf(created),
    },
    conditions: run.conditions,
    ...(last?.dredd ? { dredd: last.dredd } : {}),
    ...(last?.secondOpinion ? { secondOpinion: last.secondOpinion } : {}),
    seed: options.seed,
    ...(options.challenge === undefined ? {} : { challenge: options.challenge }),
    ...(options.repeatFlags ? { repeatFlags: options.repeatFlags } : {}),
    ...(options.only ? { only: options.only } : {}),
    errors,
  };
}
