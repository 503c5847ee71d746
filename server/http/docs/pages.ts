import { readFileSync } from "node:fs";

export interface DocsPage {
  /** The last part of its address. The page `index` is at /docs itself. */
  name: string;
  title: string;
  summary: string;
  /** Null for the page `index`, which is not in the navigation. */
  group: "Start here" | "Guides" | "Look up" | null;
}

export const readGenerated = (name: string): string =>
  readFileSync(new URL(`../../../generated/${name}`, import.meta.url), "utf8");

/** Every page, in the order of the navigation. */
export const pages = JSON.parse(readGenerated("docs/pages.json")) as readonly DocsPage[];

/** The texts of the requirements that have a page, by id. */
export const requirements = JSON.parse(readGenerated("docs/requirements.json")) as Readonly<Record<string, string>>;
