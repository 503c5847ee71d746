import { readFile } from "node:fs/promises";
import type { DocsPage } from "../../server/http/docs/pages.ts";
import { guideFile, readFrench, tableInFrench } from "./french.ts";
import { referenceMarkdown } from "./reference.ts";
import { errorTable, fieldTable, outcomeTable, type Document } from "./tables.ts";

/** The Markdown of a page, with placeholders that each server fills in. */
export async function markdownOf(page: DocsPage, document: Document): Promise<string> {
  const text = withTables(await sourceOf(page, document), (table) => TABLES[table](document));
  return page.needsSandbox ? text.replace("\n\n", NOTE) : text;
}

/** The Markdown of a page in French. */
export async function frenchMarkdownOf({ name, needsSandbox }: DocsPage, document: Document): Promise<string> {
  const text = withTables(await readFrench(name), (table) => tableInFrench(TABLES[table](document)));
  return needsSandbox ? text.replace("\n\n", FRENCH_NOTE) : text;
}

/** The tables that are made from code or from the contract, by their placeholders. */
const TABLES = { outcomes: outcomeTable, errors: errorTable, fields: fieldTable };

const withTables = (text: string, tableOf: (name: keyof typeof TABLES) => string) =>
  text.replaceAll(/\{\{(outcomes|errors|fields)\}\}/g, (_, name: keyof typeof TABLES) => tableOf(name));

/** This note stands below the title, unless the server is a sandbox. */
const NOTE = `

<!-- live -->
> **{{mode}}** Test phone numbers have no effect here, and the paths under \`/sandbox\` do not exist. Try the examples in a sandbox.

<!-- end -->
`;
const FRENCH_NOTE = `

<!-- live -->
> **{{mode}}** Les numéros de test n’y ont aucun effet, et les chemins sous \`/sandbox\` n’existent pas. Essayez les exemples dans un bac à sable.

<!-- end -->
`;

async function sourceOf({ name, file }: DocsPage, document: Document): Promise<string> {
  if (name === "contract") return `# The contract\n\n${document.info.description}`;
  if (name === "reference") return referenceMarkdown(document);
  const text = await readFile(file ? new URL(`../../${file}`, import.meta.url) : guideFile(name), "utf8");
  return file ? withoutFileLinks(text) : text;
}

/** Replaces links to files of the repository, which the server does not serve, with their text. */
const withoutFileLinks = (text: string) => text.replace(/(?<!!)\[([^\]]+)\]\((?!#|https?:)[^)]*\)/g, "$1");
