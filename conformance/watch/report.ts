// Turns what a watch saw into a report, in the form of a run's.
import { specSha256, suiteVersion } from "../contract/contract.ts";
import { requirementsOf } from "../contract/requirements.ts";
import { sideConditions } from "../run/tree.ts";
import { tallyOf, trafficText } from "../report/scope.ts";
import { counted, namedFirst } from "../report/words.ts";
import {
  countsOf,
  type CheckResult,
  type Report,
  type Requirement,
  type RequirementResult,
  type Watched,
} from "../results.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";

/** Returns a check for each contradiction that is shown, and one for the cases in which the requirement held. */
function checksOf(
  { level, text }: Requirement,
  { held, contradictions: { count, shown } }: WatchedRequirement,
): CheckResult[] {
  const checks = shown.map(({ exchanges, ...contradiction }, index): CheckResult => ({
    ...contradiction,
    name: `Contradiction ${index + 1} of ${count}`,
    verdict: level === "must" ? "fail" : "warn",
    exchanges,
    // The last exchange is the one that cannot be right after the others.
    shownBy: exchanges.length,
    contradictedBy: exchanges.length,
    durationMs: 0,
    watched: true,
  }));
  const name = `Held in ${counted(held, "case")}`;
  if (held > 0)
    checks.push({
      name,
      verdict: "pass",
      expected: text,
      actual: "as expected",
      exchanges: [],
      durationMs: 0,
      watched: true,
    });
  return checks;
}

/** Returns what traffic shows of a requirement. `watched` is undefined for one that no traffic can show. */
function resultOf(requirement: Requirement, watched: WatchedRequirement | undefined): RequirementResult {
  const { held = 0, contradictions: { count = 0 } = {} } = watched ?? {};
  if (!watched || held + count === 0) {
    const reason = watched
      ? ({ code: "unseen", text: "No exchange or webhook was a case of it." } as const)
      : ({ code: "hidden", text: "No traffic can show it. A run can judge it." } as const);
    return { ...requirement, verdict: "not-applicable", reason, checks: [] };
  }
  const verdict = count === 0 ? "pass" : requirement.level === "must" ? "fail" : "warn";
  const seen = { held, contradicted: count };
  return { ...requirement, verdict, seen, checks: checksOf(requirement, watched) };
}

/** Names requirements with the number of their contradictions. */
const named = (requirements: readonly RequirementResult[]) =>
  namedFirst(requirements.map(({ id, seen }) => `${id} (${seen?.contradicted} ×)`));

/** Returns the verdict on watched traffic, and sentences that explain it. */
function verdictOn(watched: Watched, requirements: RequirementResult[]): Pick<Report, "verdict" | "summary"> {
  if (watched.exchanges + watched.webhooks === 0)
    return { verdict: "error", summary: "Nothing was judged: no exchange with the service was seen." };
  const { total, passed, failed } = tallyOf({ requirements }).must;
  const traffic = trafficText(watched);
  const seen = `${passed + failed} of ${total} musts were seen at work.`;
  const warned = requirements.filter(({ verdict }) => verdict === "warn");
  const also = warned.length > 0 ? ` Shoulds that were not met: ${named(warned)}.` : "";
  if (failed === 0) return { verdict: "no-contradiction", summary: `No contradiction in ${traffic}; ${seen}${also}` };
  const contradicted = requirements.filter(({ verdict }) => verdict === "fail");
  const summary = `${counted(failed, "requirement")} contradicted in ${traffic}: ${named(contradicted)}. ${seen}${also}`;
  return { verdict: "contradicted", summary };
}

export type Circumstances = Pick<Watched, "source" | "declared">;

/** Returns the report of a watch. It says for each requirement whether it was contradicted, held, or was never seen. */
export function watchedReport(result: WatchResult, circumstances: Circumstances): Report {
  const { profile, requirements: judged, ...traffic } = result;
  const [startedAt, finishedAt] = [new Date(result.from).toISOString(), new Date(result.until).toISOString()];
  const watched = { ...circumstances, ...traffic, from: startedAt, until: finishedAt };
  const byId = new Map(judged.map((each) => [each.id as string, each]));
  // What the interface leaves open cannot be contradicted.
  const demanded = requirementsOf(profile).filter(({ level }) => level !== "observe");
  const requirements = demanded.map((each) => resultOf(each, byId.get(each.id)));
  return {
    ...verdictOn(watched, requirements),
    profile,
    effects: "none",
    baseUrl: circumstances.source,
    specSha256,
    suiteVersion: suiteVersion(),
    startedAt,
    finishedAt,
    counts: countsOf(requirements),
    requirements,
    created: [],
    observed: [],
    notProvided: [],
    budget: { payouts: 0, maxPayouts: 0, total: 0, maxTotal: 0, largestAmount: 0 },
    conditions: sideConditions({ responseMs: 0, lingerMs: 0 }),
    seed: 0,
    watched,
    errors: [],
  };
}
