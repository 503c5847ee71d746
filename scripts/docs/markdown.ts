import { readFile } from "node:fs/promises";
import { commandParts } from "./commands.ts";
import { resolved } from "./contract.ts";
import { knownTable } from "./known.ts";
import { pages, type Page } from "./pages.ts";
import { referenceParts } from "./reference.ts";
import { requirementList } from "./requirements.ts";
import { errorTable, fieldTable, metricTable, outcomeTable, settingTable, type Document } from "./tables.ts";

/** The pages that are made from code or from the contract, in parts. */
const GENERATED: Record<string, (document: Document) => string[] | Promise<string[]>> = {
  reference: (document) => referenceParts(resolved(document)),
  contract: ({ info }) => ["# The contract", info.description.trimEnd()],
  outcomes: () => ["# Test phone numbers", outcomeTable()],
  errors: (document) => [
    "# Errors",
    errorTable(document),
    "## Field codes",
    fieldTable(document),
    "## What the TypeScript client knows after a create",
    knownTable(),
  ],
  settings: () => ["# Settings", settingTable()],
  commands: async () => ["# Commands", ...(await commandParts())],
  metrics: () => ["# Metrics", metricTable()],
  requirements: () => ["# Requirements", requirementList()],
};

/** The Markdown of a page, with placeholders that each server fills in. */
export async function markdownOf(page: Page, document: Document): Promise<string> {
  const parts = await GENERATED[page.name]?.(document);
  const text = parts ? `${parts.join("\n\n")}\n` : await guideOf(page);
  return page.needsSandbox ? text.replace("\n\n", NOTE) : text;
}

const guideOf = async (page: Page) =>
  withLinksToPages((await readFile(fileOf(page), "utf8")).replaceAll(NOT_RUN, ""), fileOf(page));

/** A remark for the test of all commands. */
const NOT_RUN = /<!-- not run: (?:(?!-->)[^])*-->\n\n *(?=```)/g;

/** Stands below the title of a page that needs a sandbox. Only live servers show it. */
const NOTE = `

<!-- live -->
> **{{mode}}** Test phone numbers have no effect here, and the paths under \`/sandbox\` do not exist. Try the examples in a sandbox.

<!-- end -->
`;

const root = new URL("../../", import.meta.url);
const fileOf = ({ file }: Page) => new URL(file, root);

/** The files that the server serves, with their addresses relative to a page. */
const served = new Map<string, string>([
  [new URL("generated/openapi.json", root).href, "../openapi.json"],
  [new URL("spec/openapi.yaml", root).href, "../openapi.yaml"],
  [new URL("generated/docs/llms.txt", root).href, "../llms.txt"],
]);
for (const page of pages) {
  for (const { href } of [fileOf(page), new URL(`generated/docs/${page.name}.md`, root)])
    served.set(href, `${page.name}.md`);
}

/** Turns links between files, which work in a checkout, into links between pages. The server has no other files. */
const withLinksToPages = (text: string, file: URL) =>
  text.replace(/(?<!!)\[([^\]]+)\]\((?!#|[a-z]+:)([^)#]*)([^)]*)\)/g, (_, label: string, to: string, place: string) => {
    const address = served.get(new URL(to, file).href);
    return address === undefined ? label : `[${label}](${address}${place})`;
  });
