import type { ClientBase } from "pg";
import type { Migration } from "../migrations.ts";

/** An index on a table that may be large. Its migration creates it with CONCURRENTLY, outside a transaction. */
export interface ConcurrentIndex {
  name: string;
  sql: string;
}

const STATEMENT = /CREATE INDEX CONCURRENTLY (\w+)[^;]+;/g;

export const concurrentIndexes = (migrations: readonly Migration[]): ConcurrentIndex[] =>
  migrations.flatMap(({ sql }) => [...sql.matchAll(STATEMENT)].map(([text, name]) => ({ name: name!, sql: text })));

/** The part of a migration that a transaction can apply while others write. */
export const withoutIndexes = (sql: string): string => sql.replaceAll(STATEMENT, "");

/** The whole migration, for a database that nobody else writes to. */
export const withIndexes = (sql: string): string => sql.replaceAll("CREATE INDEX CONCURRENTLY ", "CREATE INDEX ");

/** Resolves with the indexes that do not exist, or whose construction did not end. */
export async function missingIndexes(
  client: ClientBase,
  indexes: readonly ConcurrentIndex[],
): Promise<ConcurrentIndex[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid`,
  );
  const valid = new Set(rows.map(({ name }) => name));
  return indexes.filter(({ name }) => !valid.has(name));
}
