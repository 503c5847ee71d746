// Reads and writes mutants-report/matrix.tsv, the results of a campaign: one line per mutant.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Row } from "./campaign.ts";
import { sourcesHash, type Mutant } from "./mutants.ts";

const folder = new URL("../../mutants-report/", import.meta.url);
const path = new URL("matrix.tsv", folder);
const columns = ["id", "file", "function", "operator", "change", "verdict", "by", "check"];

export type Entry = Row & { file: string; where: string; operator: string; change: string };
type Matrix = {
  /** The hash of the server's sources, the number of their mutants, and the time that the attempts took. */
  about: { sources: string; mutants: number; seconds: number };
  rows: Entry[];
};

const short = (text: string) => {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
};

export function writeMatrix(mutants: readonly Mutant[], rows: ReadonlyMap<string, Row>, seconds: number) {
  const about: Matrix["about"] = { sources: sourcesHash(), mutants: mutants.length, seconds };
  const lines = mutants.flatMap(({ id, file, where, operator, before, after }) => {
    const row = rows.get(id);
    if (!row) return [];
    const change = `${short(before)} → ${short(after)}`;
    return [[id, file, where, operator, change, row.verdict, row.by.join(" "), row.check ?? ""].join("\t")];
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, `# ${JSON.stringify(about)}\n${columns.join("\t")}\n${lines.join("\n")}\n`);
}

/** Returns the results so far, or undefined before the first campaign. */
export function readMatrix(): Matrix | undefined {
  if (!existsSync(path)) return undefined;
  const [first = "", , ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
  const rows = lines.map((line) => {
    const [id = "", file = "", where = "", operator = "", change = "", verdict = "", by = "", check = ""] =
      line.split("\t");
    const caught = by === "" ? [] : by.split(" ");
    return { id, file, where, operator, change, verdict: verdict as Row["verdict"], by: caught, check };
  });
  return { about: JSON.parse(first.slice(2)) as Matrix["about"], rows };
}
