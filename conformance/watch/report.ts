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
  type Verdict,
  type Watched,
} from "../results.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";

const reasons = {
  unseen: { code: "unseen", text: "No exchange or webhook was a case of it." },
  hidden: { code: "hidden", text: "A watch does not judge it. A run can." },
} as const;

const shared = { durationMs: 0, watched: true } as const;

/** Returns what traffic shows of a requirement. `watched` is undefined for one that no traffic can show. */
function resultOf(requirement: Requirement, watched: WatchedRequirement | undefined): RequirementResult {
  const { held, contradictions } = watched ?? { held: 0, contradictions: { count: 0, shown: [] } };
  const { count, shown } = contradictions;
  if (held + count === 0)
    return { ...requirement, verdict: "not-applicable", reason: reasons[watched ? "unseen" : "hidden"], checks: [] };
  const contradicted = requirement.level === "must" ? "fail" : "warn";
  const checks = shown.map(({ expected, actual, exchanges }, index): CheckResult => ({
    name: `Contradiction ${index + 1} of ${count}`,
    verdict: contradicted,
    expected,
    actual,
    exchanges,
    // The last exchange is the one that cannot be right after the others.
    shownBy: exchanges.length,
    contradictedBy: exchanges.length,
    ...shared,
  }));
  const { text: expected } = requirement;
  const name = `Held in ${counted(held, "case")}`;
  if (held > 0) checks.push({ name, verdict: "pass", expected, actual: "as expected", exchanges: [], ...shared });
  return {
    ...requirement,
    verdict: count === 0 ? "pass" : contradicted,
    seen: { held, contradicted: count },
    checks,
  };
}

/** Names requirements with the number of their contradictions. */
const named = (requirements: readonly RequirementResult[]) =>
  namedFirst(requirements.map(({ id, seen }) => `${id} (${seen?.contradicted} ×)`));

/** Returns the verdict on watched traffic, and sentences that explain it. */
function verdictOn(watched: Watched, requirements: RequirementResult[]): Pick<Report, "verdict" | "summary"> {
  if (watched.exchanges + watched.webhooks === 0)
    return { verdict: "error", summary: "Nothing was judged: no exchange with the service was seen." };
  const { total, passed, failed } = tallyOf({ requirements }).must;
  const of = (verdict: Verdict) => requirements.filter((each) => each.verdict === verdict);
  const seen = `${passed + failed} of ${total} musts were seen at work.`;
  const also = of("warn").length > 0 ? ` Shoulds that were not met: ${named(of("warn"))}.` : "";
  const traffic = trafficText(watched);
  return failed === 0
    ? { verdict: "no-contradiction", summary: `No contradiction in ${traffic}; ${seen}${also}` }
    : {
        verdict: "contradicted",
        summary: `${counted(failed, "requirement")} contradicted in ${traffic}: ${named(of("fail"))}. ${seen}${also}`,
      };
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
