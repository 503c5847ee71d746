// Joins the report of a run with that of a watch (`--watched`): the run judges what it may send, traffic shows the rest.
import { specSha256 } from "../contract/contract.ts";
import {
  CannotRun,
  countsOf,
  isTroubled,
  worstOf,
  type CheckResult,
  type Report,
  type RequirementResult,
} from "../results.ts";
import { readReport } from "./json.ts";
import { trafficLine } from "./scope.ts";
import { counted, namedFirst } from "./words.ts";

/**
 * Reads the report.json of a watch.
 * @throws CannotRun if the file is not one, or is about another contract
 */
export function readWatched(file: string): Report {
  const report = readReport(file);
  if (!report.watched) throw new CannotRun(`${file} is the report of a run: give the report.json of \`certify watch\``);
  if (report.specSha256 !== specSha256)
    throw new CannotRun(`${file} is about another version of the contract: watch again with this version of the suite`);
  return report;
}

/** Returns the result of a requirement together with what traffic showed of it. */
function joined(result: RequirementResult, traffic: RequirementResult | undefined): RequirementResult {
  const { reason, ...judged } = result;
  if (!traffic?.seen || reason?.code === "only") return result;
  const { seen } = traffic;
  const troubled = traffic.checks
    .filter(isTroubled)
    .map((check): CheckResult => ({ ...check, name: `Watched traffic: ${check.name}` }));
  if (troubled.length > 0) {
    const verdict = worstOf([result.verdict, traffic.verdict]);
    return { ...judged, verdict, seen, checks: [...result.checks, ...troubled] };
  }
  const text = `${reason?.text}; watched traffic agreed with it`;
  return { ...result, seen, ...(reason && { reason: { ...reason, text } }) };
}

/**
 * Joins a run and a watch. What traffic contradicted has failed. What the run did not judge stays so, also if traffic
 * agreed with it, because nobody knows what the traffic did not try; the report says in how many cases it agreed.
 */
export function joinWatched(report: Report, { watched, requirements: traffic }: Report): Report {
  const byId = new Map(traffic.map((each) => [each.id, each]));
  const requirements = report.requirements.map((each) => joined(each, byId.get(each.id)));
  const both = { ...report, requirements, counts: countsOf(requirements), alsoWatched: watched! };
  const contradicted = requirements.filter(({ verdict, seen }) => verdict === "fail" && seen?.contradicted);
  if (contradicted.length > 0) {
    const ids = namedFirst(contradicted.map(({ id }) => id));
    const summary = `${counted(contradicted.length, "requirement")} contradicted by watched traffic: ${ids}. ${report.summary}`;
    return { ...both, verdict: "failed", summary };
  }
  const seen = requirements.filter((each) => each.level === "must" && each.reason && each.seen).length;
  const summary = `${report.summary} No contradiction in watched traffic: ${trafficLine(watched!)}. It showed ${counted(seen, "must")} at work that the run did not judge in full.`;
  return { ...both, summary };
}
