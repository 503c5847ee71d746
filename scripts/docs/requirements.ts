// What the documentation says about each requirement of the suite.
import { readFileSync } from "node:fs";
import { judgingOf } from "../../conformance/cli/catalogue.ts";
import { catalogue, sideCatalogues } from "../../conformance/contract/requirements.ts";
import { levels, sourceOf, topicOf } from "../../conformance/report/words.ts";
import type { RequirementPage, RequirementPages } from "../../server/http/docs/requirements.ts";
import { inlineHtml } from "./html.ts";

const all = [...catalogue, ...Object.values(sideCatalogues).flat()];

/** The title of each decision, and what was decided, by its number. */
const decisions = Object.fromEntries(
  readFileSync(new URL("../../DECISIONS.md", import.meta.url), "utf8")
    .split(/^## /m)
    .slice(1)
    .map((entry) => {
      const [, number, title, text] = /^(\S+) (.+)\n\n([^]*?)\n\nWhy: /.exec(entry)!;
      return [number!, { title: title!, textHtml: inlineHtml(text!.replaceAll(/\s+/g, " ")) }];
    }),
);

/** The content of the pages of all requirements. */
export function requirementPages(): RequirementPages {
  const requirements = all.map((requirement): [string, RequirementPage] => {
    const { id, text, level, profile, matters, fix } = requirement;
    const source = sourceOf(requirement);
    return [id, { text, level: levels[level], profile, source, matters, fix, ...judgingOf(requirement) }];
  });
  const cited = Object.entries(decisions).filter(([number]) => all.some(({ decision }) => decision === number));
  return { decisions: Object.fromEntries(cited), requirements: Object.fromEntries(requirements) };
}

/** The list of all requirements by topic, each with a link to its page, in Markdown. */
export const requirementList = (): string =>
  [...Map.groupBy(all, topicOf)]
    .map(([topic, members]) =>
      [`## ${topic}`, "", ...members.map(({ id, text }) => `- [\`${id}\`](requirements/${id}): ${text}`)].join("\n"),
    )
    .join("\n\n");
