import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Executor, GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";
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

/** The times that a statement may name. */
type Times = Readonly<Record<"now" | "leased", () => number>>;
type Given = Readonly<Record<string, QueryValue>>;

interface Prepared {
  statement: StatementSync;
  /** The value of each parameter. */
  parameters: readonly ((values: Given, row: Given) => SQLInputValue)[];
  /** True if the statement returns rows. */
  returns: boolean;
  /** What happens before each execution. */
  before: (() => void) | undefined;
}

const CHANGES_MERCHANTS = /^(INSERT INTO|UPDATE|DELETE FROM) (merchants|api_keys)\b/;
const DELETES_ACCOUNTS = /^DELETE FROM accounts\b/;

/** What memory holds of tables. */
export interface Held {
  /** Called before each statement that changes merchants or keys. */
  forgetMerchants(): void;
  /** Called before each statement that deletes accounts: stores the accounts that the transaction has changed. */
  storeAccounts(): void;
}

/** Returns a function that executes statements, and prepares each statement once. */
export function statementRunner(db: DatabaseSync, times: Times, held: Held): (query: Query) => QueryResult {
  const known = new Map<string, Prepared>();

  function prepare(text: string, rows: GivenRows | undefined): Prepared {
    const found = known.get(text);
    if (found) return found;
    const { sql, names } = translated(text, rows);
    const statement = db.prepare(sql);
    const parameters = names.map((name): Prepared["parameters"][number] => {
      if (name in times) return times[name as keyof Times];
      return name in (rows?.columns ?? {}) ? (_, row) => toInput(row[name]) : (values) => toInput(values[name]);
    });
    const before = CHANGES_MERCHANTS.test(sql)
      ? held.forgetMerchants
      : DELETES_ACCOUNTS.test(sql)
        ? held.storeAccounts
        : undefined;
    const made = { statement, parameters, returns: statement.columns().length > 0, before };
    known.set(text, made);
    return made;
  }

  function execute(prepared: Prepared, values: Given, row: Given): QueryResult {
    const { statement, parameters, returns, before } = prepared;
    const inputs = parameters.map((valueOf) => valueOf(values, row));
    before?.();
    if (!returns) return { rows: [], count: Number(statement.run(...inputs).changes) };
    const rows = statement.all(...inputs);
    return { rows, count: rows.length };
  }

  return ({ text, values = {}, rows }) => {
    const statement = prepare(typeof text === "string" ? text : text.sqlite, rows);
    if (!rows) return execute(statement, values, {});
    const results = rows.values.map((row) => execute(statement, values, row));
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
