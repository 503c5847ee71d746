import { readFileSync } from "node:fs";
import { Eta, type TemplateFunction } from "eta";
import { STATUS_CODES } from "node:http";
import type { Settings } from "./fill.ts";
import { pages, type DocsPage } from "./pages.ts";

const eta = new Eta({ autoEscape: true });
let compiled: TemplateFunction | undefined;
// Read at first use. If this failed while the module was loaded, because no file descriptor was left, the module could
// never be loaded again.
const layout = () => (compiled ??= eta.compile(readFileSync(new URL("templates/layout.eta", import.meta.url), "utf8")));

interface Shown {
  title: string;
  summary: string;
  body: string;
  /** The path from this page to the folder of the pages. */
  base: string;
  /** The page's name, if it is one of the documentation's pages. */
  name?: string;
  isReference?: boolean;
}

const show = (shown: Shown, { sandbox, dashboard }: Settings): string =>
  eta.render(layout(), { ...shown, sandbox, dashboard, pages });

const baseOf = ({ name }: DocsPage) => (name === "index" ? "docs/" : "");

export const renderPage = (page: DocsPage, body: string, settings: Settings): string =>
  show({ ...page, base: baseOf(page), body }, settings);

/** The page into which scripts/reference.js puts the contract's operations. */
export function renderReference(page: DocsPage, settings: Settings): string {
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
