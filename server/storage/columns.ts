import { readMigrations, type Migration } from "./migrations.ts";
import { StorageError } from "./storage-error.ts";

/** The columns of a table, with their types in PostgreSQL. */
export type Columns = Readonly<Record<string, string>>;

const NAME_AND_TYPE = "([a-z_]+) (double precision|[A-Za-z]+)";
const CREATED = /^CREATE TABLE (\w+) \(\n(.*?)^\)/gms;
const COLUMN = new RegExp(`^  ${NAME_AND_TYPE}`, "gm");
const ADDED = new RegExp(`^ALTER TABLE (\\w+) ADD COLUMN ${NAME_AND_TYPE}`, "gm");

/** The tables, as these migrations declare them. */
function readTables(migrations: readonly Migration[]): Map<string, Columns> {
  const sql = migrations.map((migration) => migration.sql).join("\n");
  const tables = new Map<string, Record<string, string>>();
  for (const [, table, body] of sql.matchAll(CREATED))
    tables.set(table!, Object.fromEntries([...body!.matchAll(COLUMN)].map(([, name, type]) => [name, type])));
  for (const [, table, name, type] of sql.matchAll(ADDED)) tables.get(table!)![name!] = type!;
  return tables;
}

/** The columns of each table. */
export const SCHEMA: ReadonlyMap<string, Columns> = readTables(
  readMigrations(new URL("postgres/migrations/", import.meta.url)),
);

/** Returns the columns of these names, in their order. A name that is no column of the table gets the type `bigint`. */
export function columnsOf(table: string, names: readonly string[]): Columns {
  const columns = SCHEMA.get(table)!;
  return Object.fromEntries(names.map((name) => [name, columns[name] ?? "bigint"]));
}

/**
 * @param columns the columns of a database, as `table.column`
 * @param isMigrated whether the database has a version
 * @throws StorageError if a column of the first migration is missing: a development version made the database, whose first
 *   migration was another
 */
export function requireKnown([first]: readonly Migration[], columns: readonly string[], isMigrated: boolean): void {
  if (columns.length > 0 && !isMigrated) throw new Error("it contains the tables of another program");
  if (!columns.some((column) => column.startsWith("disbursements."))) return;
  const has = new Set(columns);
  for (const [table, expected] of readTables([first!]))
    if (!Object.keys(expected).every((column) => has.has(`${table}.${column}`)))
      throw new StorageError(
        "A development version made the database, and no migration leads from its schema to this one. Set DATABASE_URL to a " +
          "new database, or start the version that made this one.",
      );
}
