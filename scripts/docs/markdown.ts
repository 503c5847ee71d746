import { readFile } from "node:fs/promises";
import type { DocsPage } from "../../server/http/docs/pages.ts";
import { referenceMarkdown } from "./reference.ts";
import { errorTable, fieldTable, outcomeTable, type Document } from "./tables.ts";

/** The Markdown of a page, with placeholders that each server fills in. */
export async function markdownOf(page: DocsPage, document: Document): Promise<string> {
  const text = (await sourceOf(page, document))
    .replace("{{outcomes}}", outcomeTable)
    .replace("{{errors}}", () => errorTable(document))
    .replace("{{fields}}", () => fieldTable(document));
  return page.needsSandbox ? text.replace("\n\n", NOTE) : text;
}

/** Stands below the title, unless the server is a sandbox. */
const NOTE = `

<!-- live -->
> **{{mode}}** Test phone numbers have no effect here, and the paths under \`/sandbox\` do not exist. Try the examples in a sandbox.

<!-- end -->
`;

async function sourceOf({ name, file }: DocsPage, document: Document): Promise<string> {
  if (name === "contract") return `# The contract\n\n${document.info.description}`;
  if (name === "reference") return referenceMarkdown(document);
  const text = await readFile(new URL(`../../${file ?? `server/docs/${name}.md`}`, import.meta.url), "utf8");
  return file ? withoutFileLinks(text) : text;
}

/** Replaces links to files of the repository, which the server does not serve, with their text. */
const withoutFileLinks = (text: string) => text.replace(/(?<!!)\[([^\]]+)\]\((?!#|https?:)[^)]*\)/g, "$1");
