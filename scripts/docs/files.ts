import { EXAMPLE_URL } from "../../server/http/docs/fill.ts";
import type { DocsPage } from "../../server/http/docs/pages.ts";
import { resolved } from "./contract.ts";
import { toHtml } from "./html.ts";
import { markdownOf } from "./markdown.ts";
import { pages } from "./pages.ts";
import { postmanCollection } from "./postman.ts";
import { referencePage } from "./reference-page.ts";
import { requirementFiles } from "./requirements.ts";
import { readSamples } from "./samples.ts";
import type { Document } from "./tables.ts";

/** The files of generated/docs/: each page as Markdown and as HTML, and the index for the server and for programs. */
export async function docsFiles(document: Document): Promise<Record<string, string>> {
  const samples = await readSamples();
  const files: Record<string, string> = {};
  const index: DocsPage[] = [];
  for (const page of pages) {
    const markdown = await markdownOf(page, document);
    const { name, summary, group } = page;
    index.push({ name, title: /^# (.+)/.exec(markdown)![1]!, summary, group });
    files[`${page.name}.md`] = withoutPictures(markdown);
    files[`${page.name}.html`] =
      page.name === "reference" ? referencePage(resolved(document), samples) : toHtml(markdown, baseOf(page));
  }
  files["pages.json"] = `${JSON.stringify(index, null, 2)}\n`;
  Object.assign(files, requirementFiles());
  files["llms.txt"] = indexForPrograms(document, index);
  files["llms-full.txt"] = withAddresses(INTEGRATION.map((name) => files[`${name}.md`]).join("\n"));
  files["postman.json"] = `${JSON.stringify(postmanCollection(resolved(document)), null, 2)}\n`;
  return files;
}

/** The path from the page to the folder of the pages. */
const baseOf = ({ name }: Pick<DocsPage, "name">) => (name === "index" ? "docs/" : "");

/** Replaces drawings with a description of what they show, because programs read the text. */
const withoutPictures = (markdown: string) => markdown.replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, "*Drawing: $1.*");

/** The pages with which a program can write an integration. */
const INTEGRATION = "merchants contract reference webhooks errors outcomes your-tests certify-a-client".split(" ");

/** Gives links between pages their full addresses. */
const withAddresses = (markdown: string) =>
  markdown.replaceAll(/\]\((?=[\w-]+\.md)/g, `](${EXAMPLE_URL}/docs/`).replaceAll("](../", `](${EXAMPLE_URL}/`);

/** The index for programs that read text, in the format of llmstxt.org. */
function indexForPrograms({ info }: Document, index: readonly DocsPage[]): string {
  return [
    `# ${info.title}`,
    "",
    `> ${info.summary}`,
    "",
    "Amounts are whole numbers of the smallest unit. Every request needs an API key in the `x-api-key` header. After a",
    "lost response, send the same request with the same `reference` again: it pays at most once.",
    "",
    ...[...Map.groupBy(index, ({ group }) => group)].flatMap(([group, listed]) =>
      group
        ? [`## ${group}`, "", ...listed.map(({ title, name, summary }) => link(title, `/docs/${name}.md`, summary)), ""]
        : [],
    ),
    "## For programs",
    "",
    link("OpenAPI document", "/openapi.json", "The contract for programs, OpenAPI 3.1; also at /openapi.yaml."),
    link("All in one text", "/llms-full.txt", "The pages with which a program can write an integration."),
    link("Postman collection", "/postman.json", "The operations of payments, with examples."),
    "",
  ].join("\n");
}

const link = (title: string, path: string, about: string) => `- [${title}](${EXAMPLE_URL}${path}): ${about}`;
