import { existsSync, readFileSync } from "node:fs";

export interface DocsPage {
  /** The last part of its address. The page `index` is at /docs itself. */
  name: string;
  title: string;
  summary: string;
  /** Null for the page `index`, which is not in the navigation. */
  group: "Start here" | "Guides" | "Look up" | null;
}

const fileOf = (name: string) => new URL(`../../../generated/${name}`, import.meta.url);
export const readGenerated = (name: string): string => readFileSync(fileOf(name), "utf8");
/** A checkout that npm installed without scripts has no pages until `npm run prepare`. Customers can pay meanwhile. */
const readList = (name: string, none: object) => (existsSync(fileOf(name)) ? JSON.parse(readGenerated(name)) : none);

/** Every page, in the order of the navigation. */
export const pages: readonly DocsPage[] = readList("docs/pages.json", []);

/** The texts of the requirements that have a page, by id. */
export const requirements: Readonly<Record<string, string>> = readList("docs/requirements.json", {});
