import type { Executor, GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";
import type { Context } from "./context.ts";
import type { Query as Send } from "./database.ts";
import { TIMES } from "./statements.ts";

interface Placed {
  text: string;
  names: readonly string[];
}

/** The texts of the portable statements with `$1`, `$2`, … instead of names. The texts are constant, so they are few. */
const texts = new Map<string, Placed>();

function placed(text: string, rows: GivenRows | undefined): Placed {
  const found = texts.get(text);
  if (found) return found;
  const columns = Object.entries(rows?.columns ?? {});
  const given = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  const table = `unnest(${given}) AS given (${columns.map(([name]) => name).join(", ")})`;
  const names: string[] = [];
  const sql = text.replaceAll(":rows", table).replaceAll(/(?<!:):([a-z]\w*)/gi, (all, name: string) => {
    if (all in TIMES) return all;
    if (!names.includes(name)) names.push(name);
    return `$${columns.length + names.indexOf(name) + 1}`;
  });
  const made = { text: sql, names };
  texts.set(text, made);
  return made;
}

async function execute(send: Send, { text, values = {}, rows }: Query): Promise<QueryResult> {
  const statement = placed(typeof text === "string" ? text : text.postgres, rows);
  const given = Object.keys(rows?.columns ?? {}).map((column) => rows!.values.map((row) => row[column] ?? null));
  return send(statement.text, [...given, ...statement.names.map((name) => toParameter(values[name]))]);
}

const toParameter = (value: QueryValue | undefined) =>
  value instanceof Uint8Array ? Buffer.from(value) : (value ?? null);

/** Executes portable work inside a transaction. */
export async function runIn<T>(send: Send, work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) step = work.next(await Promise.all(step.value.map((query) => execute(send, query))));
  return step.value;
}

export function postgresExecutor(
  { db, batched }: Pick<Context, "db" | "batched">,
  tuned: Pick<Executor, "sealing" | "claim" | "writeEvents" | "lockAccount" | "book">,
): Executor {
  const read = async (query: Query) => (await execute(db.read, query)).rows;
  return {
    ...tuned,
    database: "postgres",
    read,
    readAll: (queries) => Promise.all(queries.map(read)),
    write: (work, { repeatable = false } = {}) => db.transaction((send) => runIn(send, work()), { repeatable }),
    together: (work) =>
      batched((items, queries) => queries.transaction((send) => runIn(send, work(items)), { items: items.length }), {
        concurrency: 1,
        largest: 256,
      }),
  };
}
