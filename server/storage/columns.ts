import { readMigrations } from "./migrations.ts";

/** The columns of a table, with their types in PostgreSQL. */
export type Columns = Readonly<Record<string, string>>;

const NAME_AND_TYPE = "([a-z_]+) (double precision|[a-z]+)";
const CREATED = /^CREATE TABLE (\w+) \(\n(.*?)^\)/gms;
const COLUMN = new RegExp(`^  ${NAME_AND_TYPE}`, "gm");
const ADDED = new RegExp(`^ALTER TABLE (\\w+) ADD COLUMN ${NAME_AND_TYPE}`, "gm");

/** The tables, as the migrations of PostgreSQL declare them. */
function readTables(): Map<string, Columns> {
  const sql = readMigrations(new URL("postgres/migrations/", import.meta.url))
    .map((migration) => migration.sql)
    .join("\n");
  const tables = new Map<string, Record<string, string>>();
  for (const [, table, body] of sql.matchAll(CREATED))
    tables.set(table!, Object.fromEntries([...body!.matchAll(COLUMN)].map(([, name, type]) => [name, type])));
  for (const [, table, name, type] of sql.matchAll(ADDED)) tables.get(table!)![name!] = type!;
  return tables;
}

/** The columns of each table. */
export const SCHEMA: ReadonlyMap<string, Columns> = readTables();

/** Returns the columns of a table. @param names of some of its columns, in their order; otherwise all */
export function columnsOf(table: string, names?: readonly string[]): Columns {
  const columns = SCHEMA.get(table)!;
  return names ? Object.fromEntries(names.map((name) => [name, columns[name]!])) : columns;
}
