// Reads the files in explained/: why the suite does not catch the mutants that survive.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Entry } from "./matrix.ts";
import type { Mutant } from "./mutants.ts";

export type Explanation = {
  /** The ids of mutants that survive. */
  mutants?: string[];
  /** `FILE FUNCTION` of code that no check reaches, nested functions included. */
  unreached?: string[];
  because: string;
};

const folder = new URL("explained/", import.meta.url);

export const explanations = globSync("*.yaml", { cwd: fileURLToPath(folder) }).flatMap(
  (name) => parse(readFileSync(new URL(name, folder), "utf8"), { schema: "failsafe" }) as Explanation[],
);

/** True for a mutant that needs an explanation. */
export const isAlive = ({ verdict }: Entry) => verdict === "survived" || verdict === "not reached";

const isWithin = ({ file, where }: Pick<Mutant, "file" | "where">, place: string) =>
  `${file} ${where}` === place || `${file} ${where}`.startsWith(`${place}.`);

/** True if the explanation covers a mutant. */
export function explains({ mutants = [], unreached = [] }: Explanation, entry: Entry): boolean {
  if (mutants.includes(entry.id)) return true;
  return entry.verdict === "not reached" && unreached.some((place) => isWithin(entry, place));
}

/** Returns the parts of the explanations that are about mutants that no longer exist or that are caught. */
export function stale(rows: readonly Entry[], mutants: ReadonlyMap<string, Mutant>): string[] {
  const caught = new Set(rows.filter((row) => !isAlive(row)).map(({ id }) => id));
  return explanations.flatMap(({ mutants: ids = [], unreached = [] }) => [
    ...ids.filter((id) => !mutants.has(id) || caught.has(id)),
    ...unreached.filter((place) => ![...mutants.values()].some((mutant) => isWithin(mutant, place))),
  ]);
}
