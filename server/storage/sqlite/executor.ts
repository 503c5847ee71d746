import type { SQLInputValue } from "node:sqlite";
import type { Executor, GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";
import type { Context } from "./context.ts";
import type { Writer } from "./writer.ts";

/**
 * The differences in SQLite. SQLite has no types of parameters and, because only one program writes, no locks of rows.
 */
const DIFFERENCES: readonly [pattern: RegExp, sqlite: string][] = [
  [/::\w+(\[\])?/g, ""],
  [/ FOR (NO KEY UPDATE|KEY SHARE|UPDATE|SHARE)( OF \w+)?( SKIP LOCKED)?/g, ""],
  // An index whose condition is `= 1` is not used for `= true`.
  [/= true\b/g, "= 1"],
  [/= false\b/g, "= 0"],
  [/= ANY\(:(\w+)\)/g, "IN (SELECT value FROM json_each(:$1))"],
  [/\bgreatest\(/g, "max("],
  [/\bstrpos\(/g, "instr("],
];

type Given = Readonly<Record<string, QueryValue>>;

/** Executes a prepared statement with the values of a query, for one of its rows. */
type Prepared = (values: Given, row: Given) => QueryResult;

const CHANGES_MERCHANTS = /^(INSERT INTO|UPDATE|DELETE FROM) (merchants|api_keys)\b/;
const DELETES_ACCOUNTS = /^DELETE FROM accounts\b/;

/** Returns a function that executes statements, and prepares each statement once. */
export function statementRunner({
  db,
  now,
  leased,
  cache,
  ledger,
}: Pick<Context, "db" | "now" | "leased" | "cache" | "ledger">): (query: Query) => QueryResult {
  /** The times that a statement may name. */
  const times = new Map([
    ["now", now],
    ["leased", leased],
  ]);
  const known = new Map<string, Prepared>();

  function prepare(text: string, rows: GivenRows | undefined): Prepared {
    const { sql, names } = translated(text, rows);
    const statement = db.prepare(sql);
    const parameters = names.map((name): ((values: Given, row: Given) => SQLInputValue) => {
      const ofRow = name in (rows?.columns ?? {});
      return times.get(name) ?? ((values, row) => toInput((ofRow ? row : values)[name]));
    });
    const returnsRows = statement.columns().length > 0;
    /** Brings the tables and what memory has of them together. */
    const before = [
      ...(CHANGES_MERCHANTS.test(sql) ? [cache.clear] : []),
      ...(DELETES_ACCOUNTS.test(sql) ? [ledger.store] : []),
    ];
    return (values, row) => {
      const inputs = parameters.map((valueOf) => valueOf(values, row));
      for (const act of before) act();
      if (!returnsRows) return { rows: [], count: Number(statement.run(...inputs).changes) };
      const found = statement.all(...inputs);
      return { rows: found, count: found.length };
    };
  }

  return ({ text: texts, values = {}, rows }) => {
    const text = typeof texts === "string" ? texts : texts.sqlite;
    const execute = known.get(text) ?? prepare(text, rows);
    known.set(text, execute);
    if (!rows) return execute(values, {});
    const results = rows.values.map((row) => execute(values, row));
    return {
      rows: results.flatMap((result) => result.rows),
      count: results.reduce((sum, { count }) => sum + count, 0),
    };
  };
}

/** Returns the statement with numbers instead of the names of its parameters, because SQLite binds them faster. */
function translated(text: string, rows: GivenRows | undefined): { sql: string; names: string[] } {
  const given = Object.keys(rows?.columns ?? {}).map((column) => `:${column} AS ${column}`);
  const named = DIFFERENCES.reduce(
    (changed, [pattern, sqlite]) => changed.replaceAll(pattern, sqlite),
    text.replaceAll(":rows", `(SELECT ${given.join(", ")}) AS given`),
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

export function sqliteExecutor(
  writer: Writer,
  execute: (query: Query) => QueryResult,
  tuned: Pick<Executor, "sealing" | "claim" | "writeEvents" | "lockAccount" | "book">,
): Executor {
  return {
    ...tuned,
    database: "sqlite",
    read: async (query) => execute(query).rows,
    readAll: async (queries) => queries.map((query) => execute(query).rows),
    write: (work, { commit = "write" } = {}) => writer[commit](() => runNow(execute, work())),
    // In SQLite, items of one turn of the event loop share a commit anyway.
    together: (work) => (item) => writer.write(() => runNow(execute, work([item]))[0]!),
  };
}
