// Counts the results of a run. Terminal, HTML and report.json show the same counts.
import { levels as levelNames, type Level, type Report, type RequirementResult } from "../results.ts";

/** The results of the requirements of one level. `total` is the sum of the other counts. */
type Tally = {
  total: number;
  /** Judged in full, without a failure. A requirement of level `observe` counts if its behaviour was recorded. */
  passed: number;
  failed: number;
  /** The target cannot do what the checks need. */
  notApplicable: number;
  /** Not judged, or judged only in part. */
  notJudged: number;
};

function outcomeOf({ verdict, reason }: RequirementResult): Exclude<keyof Tally, "total"> {
  if (verdict === "fail" || verdict === "warn") return "failed";
  if (verdict === "not-applicable" && reason?.code === "target") return "notApplicable";
  if (verdict === "not-applicable" || verdict === "could-not-run") return "notJudged";
  return reason ? "notJudged" : "passed";
}

const empty = (): Tally => ({ total: 0, passed: 0, failed: 0, notApplicable: 0, notJudged: 0 });

/** Counts the results by level. What was not judged stays part of the total. */
export function tallyOf({ requirements }: Pick<Report, "requirements">): Record<Level, Tally> {
  const tally = { must: empty(), should: empty(), observe: empty() };
  for (const requirement of requirements) {
    tally[requirement.level].total += 1;
    tally[requirement.level][outcomeOf(requirement)] += 1;
  }
  return tally;
}

const plurals: Record<Level, [string, string, string]> = {
  must: ["musts", "passed", "failed"],
  should: ["shoulds", "passed", "not met"],
  observe: ["open questions", "observed", "failed"],
};

/** Returns one phrase for each level that has requirements, such as "76 of 79 musts passed, 2 failed, 1 not judged". */
export function tallyPhrases(report: Pick<Report, "requirements">): string[] {
  const tally = tallyOf(report);
  return levelNames
    .filter((level) => tally[level].total > 0)
    .map((level) => {
      const [noun, passed, failed] = plurals[level];
      const { total, passed: good, failed: bad, notApplicable, notJudged } = tally[level];
      return [
        `${good} of ${total} ${noun} ${passed}`,
        ...(bad > 0 ? [`${bad} ${failed}`] : []),
        ...(notApplicable > 0 ? [`${notApplicable} not applicable`] : []),
        ...(notJudged > 0 ? [`${notJudged} not judged in full`] : []),
      ].join(", ");
    });
}

/** Sums payouts by currency. A payout whose response was lost counts, because the target may have made it. */
export function paidOf(created: Report["created"]): { currency: string; payouts: number; total: number }[] {
  const payouts = created.filter(({ kind }) => kind === "disbursement");
  return [...Map.groupBy(payouts, ({ currency = "no currency" }) => currency)]
    .map(([currency, paid]) => ({
      currency,
      payouts: paid.length,
      total: paid.reduce((sum, { amount = 0 }) => sum + amount, 0),
    }))
    .toSorted((a, b) => b.payouts - a.payouts);
}
