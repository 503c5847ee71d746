// Reads explained.yaml: why the suite does not catch the mutants that survive.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Entry } from "./matrix.ts";

export type Explanation = {
  /** The ids of mutants that survive. */
  mutants?: string[];
  /** `FILE FUNCTION` of code that no check reaches, nested functions included. */
  unreached?: string[];
  because: string;
};

export const explanations = parse(readFileSync(new URL("explained.yaml", import.meta.url), "utf8")) as Explanation[];

const isWithin = ({ file, where }: Entry, place: string) =>
  `${file} ${where}` === place || `${file} ${where}`.startsWith(`${place}.`);

/** True if the explanation covers a mutant. */
export function explains({ mutants = [], unreached = [] }: Explanation, entry: Entry): boolean {
  if (mutants.includes(entry.id)) return true;
  return entry.verdict === "not reached" && unreached.some((place) => isWithin(entry, place));
}

/** Returns the parts of the explanations that cover no mutant of the matrix. */
export function stale(rows: readonly Entry[]): string[] {
  const alive = rows.filter(({ verdict }) => verdict === "survived" || verdict === "not reached");
  return explanations.flatMap(({ mutants = [], unreached = [], because }) => [
    ...mutants.filter((id) => !alive.some((row) => explains({ mutants: [id], because }, row))),
    ...unreached.filter((place) => !alive.some((row) => explains({ unreached: [place], because }, row))),
  ]);
}
