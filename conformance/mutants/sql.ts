// Finds the places in a SQL statement where one edit weakens it. Placeholders stay in place, so that the statement still
// takes the same values.
import type { Edit } from "./edit.ts";

/** True for the source text of a string that contains SQL or a condition in SQL. */
export const isSql = (raw: string): boolean =>
  /^[`"]\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(raw) || /(\bAND\b|IS NOT NULL|[<>=] :\w+)/.test(raw);

/** A name, literal, placeholder, function call or `${…}` in a template. */
const VALUE = String.raw`(?:\([^()]*\)|[\w.+$:?]+(?:\{\w+\})?(?:\([^()]*\))?|\?|'[^']*')`;
const CONDITION = new RegExp(String.raw`${VALUE}\s+(?:IS NOT NULL|IS NULL|(?:<=|>=|<>|[<>=])\s+${VALUE})`, "g");

/** Returns the edits of a statement, given its source text with quotes or backticks. */
export function sqlEdits(raw: string): Edit[] {
  const edits: Edit[] = [];
  const edit = (operator: string, pattern: RegExp, by: (...parts: string[]) => string, within = [0, raw.length]) => {
    for (const match of raw.matchAll(pattern)) {
      const { index: start } = match;
      if (start < within[0]! || start >= within[1]!) continue;
      edits.push({ operator, start, end: start + match[0].length, text: by(...match) });
    }
  };
  const set = /\bSET\b/.exec(raw)?.index;
  const endOfSet = set === undefined ? undefined : (/\bWHERE\b/.exec(raw.slice(set))?.index ?? Infinity) + set;
  const inSet = (at: number) => set !== undefined && at >= set && at < endOfSet!;

  for (const match of raw.matchAll(CONDITION)) {
    const start = match.index;
    if (inSet(start)) continue;
    const end = start + match[0].length;
    edits.push({ operator: "SQL condition", start, end, text: `(TRUE OR ${match[0]})` });
  }
  if (set !== undefined) {
    const assignment = new RegExp(String.raw`(\b\w+) = (${VALUE}(?: [-+] ${VALUE})?)`, "g");
    edit("SQL assignment", assignment, (_, name, value) => `${name} = iif(TRUE, ${name}, ${value})`, [set, endOfSet!]);
  }
  edit("SQL boundary", /(?<= )(<=|>=|<|>)(?= )/g, (_, sign) => (sign!.length === 2 ? sign![0]! : `${sign}=`));
  edit("SQL order", /\sORDER BY\s+[\w${}., ]+?(?=\s+LIMIT|[`")])/g, () => "");
  edit("SQL order", / (DESC|ASC)\b/g, (_, direction) => (direction === "DESC" ? " ASC" : " DESC"));
  edit("SQL limit", /\bLIMIT (\?\d?|:\w+|\d+)/g, (_, limit) => `LIMIT (${limit} + 1)`);
  edit("SQL conflict", /ON CONFLICT \([\w, ]+\) DO UPDATE SET [\w =+.]+?(?= RETURNING|[`"])/g, () => "");
  edit("SQL arithmetic", / ([-+]) (?=[\w:?$])/g, (_, sign) => (sign === "+" ? " - " : " + "));
  edit("SQL function", /\b(max|min|greatest)(?=\()/g, (_, name) => (name === "min" ? "max" : "min"));
  return edits;
}

/** Returns the edits that remove a uniqueness constraint from a migration. */
export function schemaEdits(sql: string): Edit[] {
  const patterns = [/ UNIQUE\b/g, /\n *PRIMARY KEY \([\w, ]+\),(?=\n)/g, / AUTOINCREMENT\b/g];
  return patterns.flatMap((pattern) =>
    [...sql.matchAll(pattern)].map(({ index: start, 0: text }) => ({
      operator: "SQL uniqueness",
      start,
      end: start + text.length,
      text: "",
    })),
  );
}
