// Counts the results of a run, and states how far its verdict reaches. All forms of a report show the same.
import { limitPhrases } from "../allowances/table.ts";
import {
  isSide,
  levels as levelNames,
  type Level,
  type Report,
  type RequirementResult,
  type Watched,
} from "../results.ts";
import { repeatCommand } from "./repeat.ts";
import { counted, duration, namedFirst, sourceOf } from "./words.ts";

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
export function tallyPhrases(report: Pick<Report, "requirements" | "watched">): string[] {
  const tally = tallyOf(report);
  return levelNames
    .filter((level) => tally[level].total > 0)
    .map((level) => {
      const [noun, passed, failed] = report.watched ? [plurals[level][0], "held", "contradicted"] : plurals[level];
      const { total, passed: good, failed: bad, notApplicable, notJudged } = tally[level];
      return [
        `${good} of ${total} ${noun} ${passed}`,
        ...(bad > 0 ? [`${bad} ${failed}`] : []),
        ...(notApplicable > 0 ? [`${notApplicable} not applicable`] : []),
        ...(notJudged > 0 ? [`${notJudged} not ${report.watched ? "seen" : "judged in full"}`] : []),
      ].join(", ");
    });
}

/** Sums payouts by currency. A payout whose response was lost counts, because the target may have made it. */
export function paidOf(created: Report["created"]): { currency: string; payouts: number; total: number }[] {
  const payouts = created.filter(({ kind }) => kind === "disbursement");
  return [...Map.groupBy(payouts, ({ currency = "without a currency" }) => currency)]
    .map(([currency, paid]) => ({
      currency,
      payouts: paid.length,
      total: paid.reduce((sum, { amount = 0 }) => sum + amount, 0),
    }))
    .toSorted((a, b) => b.payouts - a.payouts);
}

/** Returns how many musts passed, of all musts; for watched traffic, how many it showed. */
export function mustsPhrase(report: Pick<Report, "requirements" | "watched">): string {
  const { total, passed, failed } = tallyOf(report).must;
  return report.watched ? `${passed + failed} of ${total} musts seen` : `${passed} of ${total} musts`;
}

/**
 * Returns the scope as one line: "core · effects money · 76 of 79 musts · 3 not applicable: …". Requirements that were
 * not judged stay part of the total. Every place that shows a verdict shows this line too.
 * @param most the largest number of ids to name
 */
export function scopeLine(report: Report, most = 3): string {
  const { profile, effects, only, requirements, notProvided, watched, alsoWatched } = report;
  if (watched) return [profile, "watched traffic", mustsPhrase(report), trafficLine(watched)].join(" · ");
  const ids = requirements
    .filter(({ verdict, reason }) => verdict === "not-applicable" && reason?.code === "target")
    .map(({ id }) => id);
  const { headers } = report.conditions;
  return [
    profile,
    ...(isSide(profile) ? [] : [`effects ${effects}`]),
    ...(only ? ["--only"] : []),
    ...(headers.length > 0 ? [`added headers: ${headers.join(", ")}`] : []),
    mustsPhrase(report),
    ...(ids.length > 0 ? [`${ids.length} not applicable: ${namedFirst(ids, most)}`] : []),
    ...(notProvided.length > 0 ? [`not provided: ${notProvided.map(({ what }) => what).join("; ")}`] : []),
    ...(alsoWatched ? [`also watched: ${trafficLine(alsoWatched)}`] : []),
  ].join(" · ");
}

/** Says how much traffic was watched, such as "12,431 exchanges and 310 webhooks". */
export const trafficText = ({ exchanges, webhooks }: Pick<Watched, "exchanges" | "webhooks">) =>
  counted(exchanges, "exchange") + (webhooks > 0 ? ` and ${counted(webhooks, "webhook")}` : "");

/** Describes watched traffic, such as "12,431 exchanges of 3 merchants in 2 h 10 min from 2026-11-29 10:00 UTC". */
export const trafficLine = ({ merchants, from, until, ...traffic }: Watched) =>
  `${trafficText(traffic)} of ${counted(merchants, "merchant")} in ${duration(Date.parse(until) - Date.parse(from))} ` +
  `from ${from.slice(0, 16).replace("T", " ")} UTC`;

const timesOf = (title: string, counts: Record<string, number>) =>
  Object.entries(counts).map(([what, count]) => `${title}: ${what} (${counted(count, "time")})`);

/** Says what limits what watched traffic shows: what was missed or forgotten, and what the caller declared. */
function watchedLimits({ missed, forgotten, declared: { visibleAfterMs, notifiedWithinMs } }: Watched): string[] {
  return [
    ...timesOf("not judged", missed),
    ...timesOf("forgotten", forgotten),
    `a read may show the older state for ${duration(visibleAfterMs)}`,
    notifiedWithinMs === undefined
      ? "webhooks that did not come were not judged (--notified-within)"
      : `a final status must be notified within ${duration(notifiedWithinMs)}`,
  ];
}

/** The waits of a run without options that prolong them, in milliseconds. */
const usualWaits = {
  service: { responseMs: 10_000, settleMs: 90_000 },
  client: { responseMs: 2000, settleMs: 0 },
  receiver: { responseMs: 15_000, settleMs: 5000 },
};

/** Describes the conditions that made a run more lenient than one with the default options and a target without limits. */
export function lenientConditions({ profile, conditions, budget, declared, foundLimits, watched }: Report): string[] {
  if (watched) return watchedLimits(watched);
  const { headers, rate, waits, sandbox, untriedAmounts, events } = conditions;
  const { responseMs, settleMs = 0 } = waits;
  const usual = isSide(profile) ? usualWaits[profile] : usualWaits.service;
  const limits = Object.entries({ ...declared, ...foundLimits }).filter(([, value]) => value !== false);
  return [
    ...limitPhrases(Object.fromEntries(limits)).map((limit) => `the target has a limit: ${limit}`),
    ...(responseMs > usual.responseMs ? [`waited up to ${duration(responseMs)} for a response`] : []),
    ...(settleMs > usual.settleMs ? [`waited up to ${duration(settleMs)} for a final status`] : []),
    ...(rate === null ? [] : [`slowed down to ${counted(rate, "request")} per second (--rate)`]),
    ...(headers.length > 0 ? [`headers were added to every request: ${headers.join(", ")}`] : []),
    ...(untriedAmounts > 0 ? [`${untriedAmounts} amounts above ${budget.largestAmount} were not tried`] : []),
    ...(events === null ? [] : [`only some types of events were sent: ${events.join(", ")}`]),
    ...(isSide(profile) ? [] : sandbox.missing.map((operation) => `the target has no ${operation}`)),
  ];
}

/** Says whether the service signed its webhooks, and whether the run verified the signatures. */
export function signingText({ profile, requirements, observed }: Report): string {
  if (isSide(profile)) return "not of a service";
  const verdict = requirements.find(({ id }) => id === "signature.verifies")?.verdict;
  if (verdict === "pass") return "signed, and the signatures verify with the merchant's secret";
  const names = observed.find(({ requirement }) => requirement === "webhook.headers")?.value;
  if (!Array.isArray(names)) return "none was looked at";
  const header = names.find((name) => /signature/i.test(String(name)));
  return header === undefined
    ? "not signed"
    : `with a signature in ${header}, which profile ${profile} does not verify`;
}

/** Describes everything that weakens the verdict of a run: its lenient conditions, and the musts that it did not judge. */
export function weakenedBy(report: Report): string[] {
  const open = report.requirements.filter(({ level, verdict }) => level === "must" && verdict === "not-applicable");
  return [
    ...lenientConditions(report),
    ...open.map((result) => `${result.id} (${sourceOf(result)}) was not judged: ${result.reason?.text ?? ""}`),
  ];
}

/**
 * Returns the command that judges what a run left out: without `--only`, with the effects that it needs, and with what
 * the caller did not provide. Values of keys are placeholders. Undefined if nothing was left out.
 */
export function completingCommand(report: Report): string | undefined {
  if (report.verdict !== "passed-partially") return undefined;
  const needsMoney = report.requirements.some(({ reason }) => reason?.code === "effects");
  const provide = report.notProvided.flatMap(({ provide: word }) => word ?? []);
  const variables = provide.filter((word) => !word.startsWith("--"));
  const flags = provide.filter((word) => word.startsWith("--"));
  const command = repeatCommand({ ...report, ...(needsMoney ? { effects: "money" } : {}) });
  return [...variables, command, ...flags].join(" ");
}
