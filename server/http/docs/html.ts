import { readFileSync } from "node:fs";
import { Eta, type TemplateFunction } from "eta";
import { Marked, type Tokens } from "marked";
import { STATUS_CODES } from "node:http";
import type { Settings } from "./library.ts";
import { pages, type Page } from "./pages.ts";

const eta = new Eta({ autoEscape: true });
let compiled: TemplateFunction | undefined;
// Not when this module is loaded: if no file descriptor is left then, the module could never be loaded again.
const layout = () => (compiled ??= eta.compile(readFileSync(new URL("templates/layout.eta", import.meta.url), "utf8")));

interface Shown {
  title: string;
  summary: string;
  body: string;
  /** The path from this page to the folder of the pages. */
  base: string;
  /** The page's name, if it is one of the documentation's pages. */
  name?: string;
  headings?: Heading[];
  isReference?: boolean;
}

interface Heading {
  id: string;
  text: string;
}

const show = (shown: Shown, { sandbox, simulatedLive }: Settings): string =>
  eta.render(layout(), { ...shown, sandbox, simulatedLive, pages });

const baseOf = ({ name }: Page) => (name === "index" ? "docs/" : "");

export function renderPage(page: Page, markdown: string, settings: Settings): string {
  const base = baseOf(page);
  return show({ ...page, base, ...toHtml(markdown, base) }, settings);
}

/** The page into which scripts/reference.js puts the contract's operations. */
export function renderReference(page: Page, settings: Settings): string {
  return show({ ...page, base: baseOf(page), body: "", isReference: true }, settings);
}

const TEXTS: Record<number, string> = {
  404: "There is no page at this address. It may have moved, or the link has a mistake.",
  405: "Pages can only be read. Follow a link below.",
};

/** @param path the path of the request, to which the links are relative */
export function renderError(status: number, path: string, settings: Settings): string {
  const base = "../".repeat(Math.min(8, Math.max(0, path.split("/").length - 3)));
  const title = STATUS_CODES[status]!;
  const text = TEXTS[status] ?? "The server could not make sense of this request.";
  return show({ title, summary: text, base, body: `<h1>${title}</h1><p>${text}</p>` }, settings);
}

/** Renders Markdown whose authors are this project's: HTML in it would not be removed. */
function toHtml(markdown: string, base: string): { body: string; headings: Heading[] } {
  const headings: Heading[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = slug(text);
        if (depth === 2) headings.push({ id, text: text.replaceAll("`", "") });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
    walkTokens(token) {
      if (token.type === "link") token.href = linkFrom(base, (token as Tokens.Link).href);
    },
  });
  const html = marked.parse(markdown, { async: false });
  // Wide tables and code scroll by themselves. What scrolls must be reachable with the keyboard.
  const body = html
    .replaceAll("<table>", '<div class="scroll" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>")
    .replaceAll("<pre>", '<pre tabindex="0">');
  return { body, headings };
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-");

/** Links lead from one Markdown file to another; here they lead from page to page. */
function linkFrom(base: string, href: string): string {
  if (/^(https?:|#)/.test(href)) return href;
  return base + href.replace(/\.md(?=#|$)/, "");
}
