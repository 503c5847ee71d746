import type { Emit } from "../../domain/telemetry.ts";
import type { Columns } from "../columns.ts";
import type { Values } from "../rows.ts";
import type { Queries, Query } from "./database.ts";
import type { Batcher, BatcherOptions } from "./batcher.ts";

/** The dependencies of each part of the PostgreSQL storage. */
export interface Context {
  emit: Emit;
  db: Queries;
  /**
   * Returns a function that adds to a new batcher. Items that were added before the storage was closed are still
   * processed, with the given database.
   */
  batched<Item, Result>(
    work: (items: Item[], db: Queries) => Promise<Result[]>,
    options: Pick<BatcherOptions, "concurrency" | "largest">,
  ): Batcher<Item, Result>["add"];
}

/**
 * Returns a function that inserts rows with one statement. A column without a value becomes NULL.
 * @param end what follows the rows, such as RETURNING
 * @param complete returns the whole statement, given the INSERT
 * @returns the number of inserted rows, and what they return
 */
export function inserter(table: string, columns: Columns, end = "", complete = (insert: string) => insert) {
  const names = Object.keys(columns);
  const sql = complete(
    `INSERT INTO ${table} (${names.join(", ")}) SELECT * FROM ${unnested(Object.values(columns))} ${end}`,
  );
  return (query: Query, rows: readonly Values[]) =>
    query(
      sql,
      names.map((name) => rows.map((row) => row[name] ?? null)),
    );
}

/** Returns `unnest($1::text[], …)`, a table of the arrays that are passed as parameters. */
export const unnested = (types: readonly string[]): string =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")})`;
