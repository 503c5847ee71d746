// States how far a verdict reaches. Every place that shows a verdict shows this too.
import { isSide, type Report } from "../results.ts";
import { repeatCommand } from "./repeat.ts";
import { tallyOf } from "./tally.ts";

/** Returns the ids of the requirements that are not applicable to the target. */
const notApplicableIds = ({ requirements }: Pick<Report, "requirements">) =>
  requirements
    .filter(({ verdict, reason }) => verdict === "not-applicable" && reason?.code === "target")
    .map(({ id }) => id);

const effectsOf = ({ profile, effects }: Report) => (isSide(profile) ? [] : [`effects ${effects}`]);

/**
 * Returns the scope as one line: "core · effects money · 76 of 79 musts · 3 not applicable: …". Requirements that were
 * not judged stay part of the total.
 * @param most the largest number of ids to name
 */
export function scopeLine(report: Report, most = 3): string {
  const { total, passed } = tallyOf(report).must;
  const ids = notApplicableIds(report);
  const named = ids.slice(0, most).join(", ") + (ids.length > most ? ` and ${ids.length - most} more` : "");
  const missing = report.notProvided.map(({ what }) => what);
  const { headers } = report.conditions;
  return [
    report.profile,
    ...effectsOf(report),
    ...(report.only ? ["--only"] : []),
    ...(headers.length > 0 ? [`added headers: ${headers.join(", ")}`] : []),
    `${passed} of ${total} musts`,
    ...(ids.length > 0 ? [`${ids.length} not applicable: ${named}`] : []),
    ...(missing.length > 0 ? [`not provided: ${missing.join("; ")}`] : []),
  ].join(" · ");
}

/**
 * Says for how long the run followed its records, because it cannot see later changes. Undefined if it created no
 * records.
 */
export function followedFor({ created, finishedAt }: Report): string | undefined {
  const first = created[0]?.at;
  if (first === undefined) return undefined;
  const seconds = Math.max(0, Math.round((Date.parse(finishedAt) - Date.parse(first)) / 1000));
  return `Followed the records for ${seconds} s; to see what changes later, add --linger SECONDS`;
}

/**
 * Returns the command that judges what a run left out: without `--only`, with the effects that it needs, and with what
 * the caller did not provide. Values of keys are placeholders. Undefined if nothing was left out.
 */
export function completingCommand(report: Report): string | undefined {
  if (report.verdict !== "passed-partially") return undefined;
  const needsMoney = report.requirements.some(({ reason }) => reason?.code === "effects");
  const provide = report.notProvided.flatMap(({ provide: one }) => one ?? []);
  const variables = provide.filter((one) => !one.startsWith("--"));
  const flags = provide.filter((one) => one.startsWith("--"));
  const command = repeatCommand({ ...report, ...(needsMoney ? { effects: "money" } : {}) });
  return [...variables, command, ...flags].join(" ");
}
