import type { Executor, GivenRows, Query, QueryResult, QueryValue, Work } from "../portable/query.ts";
import type { Values } from "../rows.ts";
import type { Batcher, BatcherOptions } from "./batcher.ts";
import type { Queries, Query as Send } from "./database.ts";
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
  if (rows?.values.length === 0) return { rows: [], count: 0 };
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

/**
 * Returns a function that adds to a new batcher. Items that were added before the storage was closed are still processed,
 * with the given database.
 */
export type Batched = <Item, Result>(
  work: (items: Item[], db: Queries) => Promise<Result[]>,
  options: Pick<BatcherOptions, "concurrency" | "largest">,
) => Batcher<Item, Result>["add"];

export function postgresExecutor(
  { read: send, transaction }: Queries,
  batched: Batched,
  shared: Pick<Executor, "sealing" | "emit">,
): Executor {
  const read = async (query: Query) => (await execute(send, query)).rows;
  return {
    ...shared,
    database: "postgres",
    read,
    readAll: (queries) => Promise.all(queries.map(read)),
    write: (work, options) => transaction((query) => runIn(query, work()), options),
    // One batch at a time: while a batch is being committed, the next batch fills up.
    together: (work, { largest = 256, repeatable = false } = {}) =>
      batched(
        (items, db) => db.transaction((query) => runIn(query, work(items)), { items: items.length, repeatable }),
        { concurrency: 1, largest },
      ),
    finder(select, columns) {
      const columnsWithPlace = { ...columns, place: "bigint" };
      const text = `SELECT given.place, found.* FROM :rows CROSS JOIN LATERAL (${select}) AS found`;
      return batched(
        async (wanted: Values[], db) => {
          const values = wanted.map((row, place) => ({ ...row, place }));
          const { rows } = await execute(db.read, { text, rows: { columns: columnsWithPlace, values } });
          const found = new Map(rows.map((row) => [row.place as number, row]));
          return wanted.map((_, place) => found.get(place));
        },
        { concurrency: 2, largest: 256 },
      );
    },
  };
}
