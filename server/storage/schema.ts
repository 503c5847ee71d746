import { readFileSync, readdirSync } from "node:fs";
import { StorageError } from "./storage-error.ts";

export interface Migration {
  name: string;
  sql: string;
}

/** Reads the SQL files of a folder (`001-name.sql`) in the order of their names. */
const readMigrations = (folder: URL): Migration[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .map((name) => ({ name, sql: readFileSync(new URL(name, folder), "utf8") }));

export const SQLITE_MIGRATIONS = readMigrations(new URL("sqlite/migrations/", import.meta.url));
export const POSTGRES_MIGRATIONS = readMigrations(new URL("postgres/migrations/", import.meta.url));

/** The version of a database's schema, and the migrations that the database lacks. */
export interface Schema {
  version: number;
  pending: Migration[];
}

/**
 * @param version 0 if no migration was applied
 * @param hasTables true if the database has any table
 * @throws an error if a newer server or another program made the schema
 */
export function schemaAt(all: readonly Migration[], version: number, hasTables: boolean): Schema {
  if (version === 0 && hasTables) throw new Error("it contains the tables of another program");
  if (version > all.length) {
    throw new StorageError(
      `The database has schema version ${version}; this server supports versions up to ${all.length}. ` +
        "Start the newer server, or set DATABASE_URL to another database.",
    );
  }
  return { version, pending: all.slice(version) };
}

/** What a migration did. */
export interface Migrated {
  from: number;
  to: number;
}

/** The columns of a table, with their types in PostgreSQL. */
export type Columns = Readonly<Record<string, string>>;

const NAME_AND_TYPE = "([a-z_]+) (double precision|[A-Za-z]+)";
const CREATED = /^CREATE TABLE (\w+) \(\n(.*?)^\)/gms;
const COLUMN = new RegExp(`^  ${NAME_AND_TYPE}`, "gm");
const ADDED = new RegExp(`^ALTER TABLE (\\w+) ADD COLUMN ${NAME_AND_TYPE}`, "gm");

/** The columns of each table, as these migrations declare them. */
function tablesOf(migrations: readonly Migration[]): ReadonlyMap<string, Columns> {
  const sql = migrations.map((migration) => migration.sql).join("\n");
  const tables = new Map<string, Record<string, string>>();
  for (const [, table, body] of sql.matchAll(CREATED))
    tables.set(table!, Object.fromEntries([...body!.matchAll(COLUMN)].map(([, name, type]) => [name, type])));
  for (const [, table, name, type] of sql.matchAll(ADDED)) tables.get(table!)![name!] = type!;
  return tables;
}
export const SCHEMA = tablesOf(POSTGRES_MIGRATIONS);

/** Returns the columns of these names, in their order. A name that is no column of the table gets the type `bigint`. */
export function columnsOf(table: string, names: readonly string[]): Columns {
  const columns = SCHEMA.get(table)!;
  return Object.fromEntries(names.map((name) => [name, columns[name] ?? "bigint"]));
}
