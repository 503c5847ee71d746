// The guides in French: server/docs/fr/. A French guide's first line has a digest of the English text with which the
// guide agrees.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { cells } from "./french-cells.ts";

export const guideFile = (name: string): URL => new URL(`../../server/docs/${name}.md`, import.meta.url);
export const frenchFile = (name: string): URL => guideFile(`fr/${name}`);

/** The first line of the French text of this English text. */
export const markOf = (english: string): string =>
  `<!-- english ${createHash("sha256").update(english).digest("hex").slice(0, 16)} -->`;

export const FIRST_LINE = /^<!-- english [0-9a-f]{16} -->\n\n/;

/** A guide in French, without its first line. */
export async function readFrench(name: string): Promise<string> {
  const text = await readFile(frenchFile(name), "utf8");
  if (!FIRST_LINE.test(text)) throw new Error(`server/docs/fr/${name}.md does not begin with the line of its English.`);
  return text.replace(FIRST_LINE, "");
}

/** The cells of a table in Markdown. */
const CELL = /(?<=\| )[^|\n]+(?= \|)/g;
/** The parts of a cell, which are translated one by one. */
const partsOf = (cell: string) => cell.split("; ");
/** The parts of all cells of tables. */
export const partsIn = (tables: string): string[] => (tables.match(CELL) ?? []).flatMap(partsOf);

/** Codes, statuses and the line below the heads are the same in all languages. */
const isWords = (part: string) => /[a-z]/.test(part.replaceAll(/`[^`]*`/g, ""));

/** A table in French, if the French of all its cells is known. */
export const tableInFrench = (table: string): string =>
  table.replaceAll(CELL, (cell) => partsOf(cell).map(partInFrench).join(" ; "));

function partInFrench(part: string): string {
  const french = cells[part] ?? (isWords(part) ? undefined : part);
  if (french === undefined) throw new Error(`scripts/docs/french-cells.ts has no French for “${part}”.`);
  return french;
}
