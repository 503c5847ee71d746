import { readFile } from "node:fs/promises";
import document from "../../../generated/openapi.json" with { type: "json" };
import type { Settings } from "./library.ts";
import { pages, type Page } from "./pages.ts";
import { referenceMarkdown } from "./reference.ts";
import { errorTable, fieldTable, outcomeTable } from "./tables.ts";

/** The address in the guides, for which the address of this server is put in. */
const EXAMPLE_URL = "http://127.0.0.1:3000";

const LIVE_NOTE = "**This server is live: its payments are real.**";
const SIMULATED_NOTE = "**This server is operated like a live one, but no money moves.**";
const WITHOUT_SANDBOX =
  "Test phone numbers have no effect here, and the paths under `/sandbox` do not exist. Try the examples in a sandbox.";

/** The Markdown of a page, as it is served and as the HTML is made from. */
export async function markdownOf(page: Page, settings: Settings): Promise<string> {
  const text = (await sourceOf(page))
    .replace("{{outcomes}}", () => outcomeTable(settings.settleDelayMs))
    .replace("{{errors}}", errorTable)
    .replace("{{fields}}", fieldTable)
    .replaceAll(EXAMPLE_URL, () => safeInShell(settings.publicUrl));
  if (!page.needsSandbox || settings.sandbox) return text;
  const note = settings.simulatedLive ? SIMULATED_NOTE : LIVE_NOTE;
  return text.replace("\n\n", () => `\n\n> ${note} ${WITHOUT_SANDBOX}\n\n`);
}

async function sourceOf({ name, file }: Page): Promise<string> {
  if (name === "contract") return `# The contract\n\n${document.info.description}`;
  if (name === "reference") return referenceMarkdown(document);
  const text = await readFile(new URL(`../../../${file ?? `server/docs/${name}.md`}`, import.meta.url), "utf8");
  return file ? withoutFileLinks(text) : text;
}

/** Keeps the words of links to files of the repository, which this server does not serve. */
const withoutFileLinks = (text: string) => text.replace(/\[([^\]]+)\]\((?!#|https?:)[^)]*\)/g, "$1");

/** Encodes what a shell would interpret, because the guides' commands are pasted into one. */
const safeInShell = (url: string) => url.replace(/[^\w.:/~%[\]-]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);

/** The index for programs that read text, in the format of llmstxt.org. */
export function indexForPrograms({ publicUrl }: Settings): string {
  const link = (title: string, path: string, about: string) => `- [${title}](${publicUrl}${path}): ${about}`;
  const group = (name: Page["group"]) =>
    pages
      .filter((page) => page.group === name)
      .map(({ title, name: to, summary }) => link(title, `/docs/${to}.md`, summary));
  return [
    `# ${document.info.title}`,
    "",
    `> ${document.info.summary}`,
    "",
    "Amounts are whole numbers of the smallest unit. Every request needs an API key in the `x-api-key` header. After a",
    "lost response, send the same request with the same `reference` again: it pays at most once.",
    "",
    "## Guides",
    "",
    ...group("Guides"),
    "",
    "## Look up",
    "",
    ...group("Look up"),
    link("OpenAPI document", "/openapi.json", "The contract for programs, OpenAPI 3.1; also at /openapi.yaml."),
    "",
  ].join("\n");
}
