import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Executor, GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";
import type { Writer } from "./writer.ts";

/** What is different in SQLite. It has no types of parameters and, because only one program writes, no locks of rows. */
const DIFFERENCES: readonly [pattern: RegExp, sqlite: string][] = [
  [/::\w+(\[\])?/g, ""],
  [/ FOR (NO KEY UPDATE|KEY SHARE|UPDATE|SHARE)( SKIP LOCKED)?/g, ""],
  [/= ANY\(:(\w+)\)/g, "IN (SELECT value FROM json_each(:$1))"],
  [/\bgreatest\(/g, "max("],
  [/\bstrpos\(/g, "instr("],
];

interface Prepared {
  statement: StatementSync;
  names: readonly string[];
  /** True if the statement returns rows. */
  returns: boolean;
}

/** The times that a statement may name. */
type Times = Readonly<Record<"now" | "dated" | "leased", () => number>>;

/** Returns a function that executes statements, each of which is prepared once. */
export function statementRunner(db: DatabaseSync, times: Times): (query: Query) => QueryResult {
  const known = new Map<string, Prepared>();

  function prepared(text: string, rows: GivenRows | undefined): Prepared {
    const found = known.get(text);
    if (found) return found;
    const sql = translated(text, rows);
    const names = [...new Set([...sql.matchAll(/:(\w+)/g)].map(([, name]) => name!))];
    const statement = db.prepare(sql);
    const made = { statement, names, returns: statement.columns().length > 0 };
    known.set(text, made);
    return made;
  }

  function execute({ statement, names, returns }: Prepared, values: Readonly<Record<string, QueryValue>>): QueryResult {
    const parameters: Record<string, SQLInputValue> = {};
    for (const name of names) parameters[name] = name in times ? times[name as keyof Times]() : toInput(values[name]);
    if (!returns) return { rows: [], count: Number(statement.run(parameters).changes) };
    const rows = statement.all(parameters);
    return { rows, count: rows.length };
  }

  return ({ text, values = {}, rows }) => {
    const statement = prepared(typeof text === "string" ? text : text.sqlite, rows);
    if (!rows) return execute(statement, values);
    const results = rows.values.map((row) => execute(statement, { ...values, ...row }));
    return {
      rows: results.flatMap((result) => result.rows),
      count: results.reduce((sum, { count }) => sum + count, 0),
    };
  };
}

function translated(text: string, rows: GivenRows | undefined): string {
  const given = Object.keys(rows?.columns ?? {}).map((column) => `:${column} AS ${column}`);
  const sql = text.replaceAll(":rows", `(SELECT ${given.join(", ")}) AS given`);
  return DIFFERENCES.reduce((changed, [pattern, sqlite]) => changed.replaceAll(pattern, sqlite), sql);
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

export function sqliteExecutor(writer: Writer, execute: (query: Query) => QueryResult): Executor {
  return {
    database: "sqlite",
    read: async (query) => execute(query).rows,
    readAll: async (queries) => writer.read(() => queries.map((query) => execute(query).rows)),
    write: (work, { commit = "write" } = {}) => writer[commit](() => runNow(execute, work())),
  };
}
