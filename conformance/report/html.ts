import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isSide, verdictOrder, type Report, type RequirementResult } from "../results.ts";
import { pageOf } from "../contract/examples.ts";
import { causesOf, firstRequest, needsAttention } from "./causes.ts";
import { repeatCommand, repeatOf } from "./repeat.ts";
import { lenientConditions, paidOf, scopeLine, tallyPhrases, trafficLine } from "./scope.ts";
import { render } from "./templates.ts";
import * as words from "./words.ts";

const read = (name: string) => readFileSync(join(import.meta.dirname, "templates", name), "utf8").trim();
const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Groups requirements by topic, in the order in which the topics occur. */
const byTopic = (requirements: readonly RequirementResult[]) =>
  [...Map.groupBy(requirements, words.topicOf)].map(([topic, members]) => ({ topic, requirements: members }));

/** Groups the requirements that were not judged, or only in part, by reason. */
function notJudged(requirements: readonly RequirementResult[]) {
  const groups = Map.groupBy(
    requirements.filter(({ reason }) => reason),
    ({ reason }) => reason!.code,
  );
  return [...groups].map(([code, members]) => ({ why: words.whyNotJudged[code], requirements: members }));
}

/** Renders a time in the form "2026-11-20 10:00:18 UTC". */
const moment = (time: string) => time.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");

/**
 * Renders the report as one self-contained HTML file. The file is readable without its script, which only adds the
 * filter and copy buttons. Everything that the target sent is escaped, and the page's policy allows no other script.
 */
export function renderHtml(report: Report): string {
  const script = read("filter.js");
  const style = `${read("theme.css")}\n${read("style.css")}`;
  const texts = new Map(report.requirements.map(({ id, text }) => [id, text]));
  const page = render("report", {
    report,
    words: report.watched ? { ...words, verdicts: words.watchedVerdicts } : words,
    isSide: isSide(report.profile),
    about: words.profiles[report.profile],
    scope: scopeLine(report),
    script,
    style,
    policy: `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; base-uri 'none'; form-action 'none'`,
    conditions: lenientConditions(report),
    causes: causesOf(report),
    tally: tallyPhrases(report),
    paid: paidOf(report.created),
    groups: byTopic(report.requirements),
    observed: report.observed.map(({ requirement, name, value }) => {
      return { requirement, name, text: texts.get(requirement), leaves: words.leavesOf(value) };
    }),
    notJudged: notJudged(report.requirements),
    took: words.duration(Date.parse(report.finishedAt) - Date.parse(report.startedAt)),
    needsAttention,
    pageOf,
    firstRequest,
    verdictOrder,
    worstFirst: words.worstFirst,
    duration: words.duration,
    moment,
    repeatOf,
    trafficLine,
    repeatCommand,
  });
  // Indentation is a twentieth of a long report. Text of the target stays unchanged, because its `<` is escaped.
  return page.replace(/\n\s+</g, "\n<");
}
