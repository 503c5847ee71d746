import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";

/**
 * The differences in SQLite. SQLite has no types of parameters and, because only one program writes, no locks of rows.
 */
const DIFFERENCES: readonly [pattern: RegExp, sqlite: string][] = [
  [/::\w+(\[\])?/g, ""],
  [/ COLLATE "C"/g, ""],
  [/ FOR (NO KEY UPDATE|KEY SHARE|UPDATE|SHARE)( OF \w+)?( SKIP LOCKED)?/g, ""],
  // An index whose condition is `= 1` is not used for `= true`.
  [/= true\b/g, "= 1"],
  [/= false\b/g, "= 0"],
  [/= ANY\(:(\w+)\)/g, "IN (SELECT value FROM json_each(:$1))"],
  [/\bgreatest\(/g, "max("],
  [/\bleast\(/g, "min("],
  [/\bstrpos\(/g, "instr("],
  // Otherwise SQLite copies each page before a statement with RETURNING changes it, to undo this statement alone: 20 of
  // the 45 µs that it takes to insert a payout. After an error the whole transaction is rolled back anyway.
  [/^(INSERT|UPDATE)\b/g, "$1 OR FAIL"],
];

/** The times that a statement may name. */
type Times = Readonly<Record<"now" | "leased", () => number>>;
type Given = Readonly<Record<string, QueryValue | undefined>>;

/** Executes a prepared statement with the values of a query, for one of its rows. */
type Prepared = (values: Given, row: Given) => QueryResult;

const CHANGES_MERCHANTS = /^(INSERT INTO|UPDATE|DELETE FROM) (merchants|api_keys)\b/;

/**
 * Returns a function that executes statements, and prepares each statement once.
 * @param forgetMerchants is called before each statement that changes merchants or keys
 */
export function statementRunner(
  db: DatabaseSync,
  times: Times,
  forgetMerchants: () => void,
): (query: Query) => QueryResult {
  const known = new Map<string, Prepared>();
  const inOrder = takesNumbers(db);

  function prepare(text: string, rows: GivenRows | undefined): Prepared {
    const { sql, names } = translated(text, rows);
    const statement = db.prepare(sql);
    const parameters = names.map((name): ((values: Given, row: Given) => SQLInputValue) => {
      const ofRow = name in (rows?.columns ?? {});
      if (name in times) return times[name as keyof Times];
      return (values, row) => toInput((ofRow ? row : values)[name]);
    });
    const returnsRows = /\bRETURNING\b/.test(sql) || !/\b(INSERT|UPDATE|DELETE)\b/.test(sql);
    const changesMerchants = CHANGES_MERCHANTS.test(text);
    return (values, row) => {
      const inputs = parameters.map((valueOf) => valueOf(values, row));
      const given = inOrder ? inputs : [Object.fromEntries(inputs.map((input, index) => [`?${index + 1}`, input]))];
      if (changesMerchants) forgetMerchants();
      if (!returnsRows) return { rows: [], count: Number(statement.run(...(given as SQLInputValue[])).changes) };
      const found = statement.all(...(given as SQLInputValue[]));
      return { rows: found, count: found.length };
    };
  }

  return ({ text: texts, values = {}, rows }) => {
    if (rows?.values.length === 0) return { rows: [], count: 0 };
    const text = typeof texts === "string" ? texts : texts.sqlite;
    const execute = known.get(text) ?? prepare(text, rows);
    known.set(text, execute);
    if (!rows) return execute(values, {});
    if (rows.values.length === 1) return execute(values, rows.values[0]!);
    const results = rows.values.map((row) => execute(values, row));
    return {
      rows: results.flatMap((result) => result.rows),
      count: results.reduce((sum, { count }) => sum + count, 0),
    };
  };
}

/** False before Node 22.20, which takes a numbered parameter for one with a name. */
function takesNumbers(db: DatabaseSync): boolean {
  try {
    return db.prepare("SELECT ?1").get(1) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Returns the statement for one of the given rows, whose values become parameters. A join with the given rows keeps a
 * table of one row.
 */
function ofOneRow(text: string, { columns }: GivenRows): string {
  const names = Object.keys(columns);
  const inserted = `VALUES (${names.map((name) => `:${name}`).join(", ")})`;
  const alone = text
    .replace(/SELECT \* FROM :rows( WHERE true)?/, inserted)
    .replace(/\s+FROM :rows\s+(?=WHERE\b)/, " ");
  if (!alone.includes(":rows")) return alone.replaceAll(/\bgiven\./g, ":");
  return alone.replaceAll(":rows", `(SELECT ${names.map((name) => `:${name} AS ${name}`).join(", ")}) AS given`);
}

/** Returns the statement with numbers instead of the names of its parameters, because SQLite binds them faster. */
function translated(text: string, rows: GivenRows | undefined): { sql: string; names: string[] } {
  const named = DIFFERENCES.reduce(
    (changed, [pattern, sqlite]) => changed.replaceAll(pattern, sqlite),
    rows ? ofOneRow(text, rows) : text,
  );
  const names: string[] = [];
  const sql = named.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `?${names.indexOf(name) + 1}`;
  });
  return { sql, names };
}

function toInput(value: QueryValue | undefined): SQLInputValue {
  if (typeof value === "boolean") return Number(value);
  if (Array.isArray(value)) return JSON.stringify(value);
  return (value as SQLInputValue | undefined) ?? null;
}

/** Executes work inside a transaction, at once. */
export function runNow<T>(execute: (query: Query) => QueryResult, work: Work<T>): T {
  let step = work.next();
  while (!step.done) step = work.next(step.value.map(execute));
  return step.value;
}
