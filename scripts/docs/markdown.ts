import { readFile } from "node:fs/promises";
import { resolved } from "./contract.ts";
import { pages, type Page } from "./pages.ts";
import { referenceMarkdown } from "./reference.ts";
import { requirementList } from "./requirements.ts";
import { commandTable, errorTable, fieldTable, outcomeTable, type Document } from "./tables.ts";

/** The Markdown of a page, with placeholders that each server fills in. */
export async function markdownOf(page: Page, document: Document): Promise<string> {
  const source = (await sourceOf(page, document)).replaceAll(NOT_RUN, "");
  const text = withTables(source, (table) => TABLES[table](document));
  return page.needsSandbox ? text.replace("\n\n", NOTE) : text;
}

/** A remark for the test of all commands. */
const NOT_RUN = /<!-- not run: (?:(?!-->)[^])*-->\n\n *(?=```)/g;

/** The tables that are made from code or from the contract. In a guide, a link to the table stands in its place. */
const TABLES = {
  outcomes: outcomeTable,
  errors: errorTable,
  fields: fieldTable,
  keys: () => commandTable("keys"),
  balances: () => commandTable("balances"),
  rails: () => commandTable("rails"),
  db: () => commandTable("db"),
  requirements: requirementList,
};

const withTables = (text: string, tableOf: (name: keyof typeof TABLES) => string) =>
  text.replaceAll(/^\[?Table: (\w+)\b.*$/gm, (_, name: keyof typeof TABLES) => tableOf(name));

/** Stands below the title of a page that needs a sandbox. Only live servers show it. */
const NOTE = `

<!-- live -->
> **{{mode}}** Test phone numbers have no effect here, and the paths under \`/sandbox\` do not exist. Try the examples in a sandbox.

<!-- end -->
`;

async function sourceOf(page: Page, document: Document): Promise<string> {
  if (page.name === "contract") return `# The contract\n\n${document.info.description}`;
  if (page.name === "reference") return referenceMarkdown(resolved(document));
  const file = fileOf(page);
  return withLinksToPages(await readFile(file, "utf8"), file);
}

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
