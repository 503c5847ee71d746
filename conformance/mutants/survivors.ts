// Reads survivors.yaml: why mutants that the suite does not catch are accepted.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Entry } from "./matrix.ts";
import type { Mutant } from "./mutants.ts";

type Reason = { because: string; /** Ids, separated by spaces. */ mutants: string };

const file = new URL("survivors.yaml", import.meta.url);
const reasons = parse(readFileSync(file, "utf8"), { schema: "failsafe" }) as Reason[];
const accepted = new Set(reasons.flatMap(({ mutants }) => mutants.split(" ")));

/** Returns the mutants that survive without a reason. */
export const unexplained = (rows: readonly Entry[]) =>
  rows.filter(({ id, verdict }) => verdict === "survived" && !accepted.has(id));

/** Returns the ids in survivors.yaml of mutants that no longer exist or that are caught. */
export function stale(rows: readonly Entry[], mutants: ReadonlyMap<string, Mutant>): string[] {
  const dead = new Set(rows.filter(({ verdict }) => verdict !== "survived").map(({ id }) => id));
  return [...accepted].filter((id) => !mutants.has(id) || dead.has(id));
}
