// The list of the suite's requirements, and a page for each of them.
import { readFileSync } from "node:fs";
import { judgingOf } from "../../conformance/cli/catalogue.ts";
import { readExamples } from "../../conformance/contract/examples.ts";
import { allRequirements as all } from "../../conformance/contract/requirements.ts";
import { levels, sourceOf, topicOf } from "../../conformance/report/words.ts";
import type { Requirement } from "../../conformance/results.ts";
import { toHtml } from "./html.ts";

const examples = readExamples();

/** Each decision in Markdown, by its number. */
const decisions = Object.fromEntries(
  readFileSync(new URL("../../DECISIONS.md", import.meta.url), "utf8")
    .split(/^## /m)
    .slice(1)
    .map((entry) => {
      const [, number, title, text] = /^(\S+) (.+)\n\n([^]*?)\n\nWhy: /.exec(entry)!;
      return [number!, `**${number}: ${title}.** ${text}`];
    }),
);

/** Returns the Markdown of a text that is not Markdown. */
const plain = (text: string) => text.replaceAll(/[\\`*_[\]<>&|]/g, "\\$&");

const code = (text: string) => `~~~~\n${text}\n~~~~`;

/** A heading and its content; nothing without content. */
const part = (heading: string, content: string | undefined, render = plain) =>
  content === undefined ? [] : [heading, render(content)];

function pageOf(requirement: Requirement): string {
  const { id, text, level, profile, matters, fix } = requirement;
  const source = sourceOf(requirement);
  const { fault, expected, actual, request, wrong, right } = examples[id] ?? {};
  const { ways, run } = judgingOf(requirement);
  return [
    "[All requirements](requirements.md)",
    `# \`${id}\``,
    `**${plain(text)}**`,
    `${levels[level]} · profile ${profile} · ${source in decisions ? "decision" : "interface document,"} ${source}`,
    ...part("## Why it matters", matters),
    ...part("## Where it comes from", decisions[source], String),
    ...part("## How to fix it", fix),
    ...part("## A service that violates it", fault),
    ...part("### Expected", expected),
    ...part("### Received", actual),
    ...part("### Request", request, code),
    ...part("### Wrong response", wrong, code),
    ...part("### Right response", right, code),
    "## How it is checked",
    ways.map((texts) => `- ${plain(texts.join(" "))}`).join("\n"),
    code(run),
  ].join("\n\n");
}

/** The files of the pages, and the texts of the requirements by id. */
export const requirementFiles = (): Record<string, string> => ({
  "requirements.json": JSON.stringify(Object.fromEntries(all.map(({ id, text }) => [id, text]))),
  ...Object.fromEntries(all.map((each) => [`requirements/${each.id}.html`, toHtml(pageOf(each), "../")])),
});

/** The list of all requirements by topic, each with a link to its page, in Markdown. */
export const requirementList = (): string =>
  [...Map.groupBy(all, topicOf)]
    .map(([topic, members]) =>
      [`## ${topic}`, "", ...members.map(({ id, text }) => `- [\`${id}\`](requirements/${id}): ${text}`)].join("\n"),
    )
    .join("\n\n");
