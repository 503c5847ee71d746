import { readFileSync } from "node:fs";
import { Eta, type TemplateFunction } from "eta";
import type { Settings } from "./fill.ts";
import { pages, type DocsPage } from "./pages.ts";
import type { Found } from "./search.ts";

const eta = new Eta({ autoEscape: true });
const compiled = new Map<string, TemplateFunction>();

/**
 * Read at first use: if reading failed while the module was loaded, because no file descriptor was left, the module
 * could never be loaded again.
 */
function template(name: string): TemplateFunction {
  const known = compiled.get(name);
  if (known) return known;
  const made = eta.compile(readFileSync(new URL(`templates/${name}.eta`, import.meta.url), "utf8"));
  compiled.set(name, made);
  return made;
}

interface Shown {
  title: string;
  summary: string;
  body: string;
  /** The path from this page to the folder of the pages. */
  base: string;
  /** The page's name, if it is one of the documentation's pages. */
  name?: string;
  /** What was searched for. */
  query?: string;
}

function show(shown: Shown, { sandbox, dashboard }: Settings): string {
  return eta.render(template("layout"), { ...shown, sandbox, dashboard, pages });
}

const baseOf = ({ name }: DocsPage) => (name === "index" ? "docs/" : "");

export function renderPage(page: DocsPage, body: string, settings: Settings): string {
  const { name, title, summary } = page;
  return show({ name, title, summary, base: baseOf(page), body }, settings);
}

/** The page with the results of a search, which links to headings of other pages. */
export function renderSearch(query: string, found: readonly Found[], settings: Settings): string {
  const body = eta.render(template("search"), { query, found });
  const summary = "Parts of the documentation that contain all words of a search.";
  return show({ title: "Search", summary, base: "", query, body }, settings);
}

type ErrorTexts = [title: string, text: string];
const ERRORS: Readonly<Record<number, ErrorTexts>> = {
  404: ["Not Found", "There is no page at this address. It may have moved, or the link has a mistake."],
  405: ["Method Not Allowed", "Pages can only be read. Follow a link below."],
};
const OTHER_ERROR: ErrorTexts = ["Bad Request", "The server could not make sense of this request."];

/** @param path the path of the request, to which the links are relative */
export function renderError(status: number, path: string, settings: Settings): string {
  const base = "../".repeat(Math.min(8, Math.max(0, path.split("/").length - 3)));
  const [title, text] = ERRORS[status] ?? OTHER_ERROR;
  return show({ title, summary: text, base, body: `<h1>${title}</h1><p>${text}</p>` }, settings);
}
