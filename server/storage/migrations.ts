import { readFileSync, readdirSync } from "node:fs";
import { StorageError } from "./storage-error.ts";

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** Reads the SQL files of a folder (`001-name.sql`) in order. Their numbers must have no gaps. */
export function readMigrations(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((name, index) => {
    const version = Number.parseInt(name, 10);
    if (version !== index + 1)
      throw new StorageError(`Migration ${name} is out of order: expected number ${index + 1}.`);
    return { version, name, sql: readFileSync(new URL(name, folder), "utf8") };
  });
}

/**
 * Returns the migrations that a schema of version `current` still lacks.
 * @throws StorageError if a newer server created the schema
 */
export function missingMigrations(all: readonly Migration[], current: number): Migration[] {
  if (current > all.length) {
    throw new StorageError(
      `The database has schema version ${current}; this server supports versions up to ${all.length}. ` +
        "Start the newer server, or set DATABASE_URL to another database.",
    );
  }
  return all.slice(current);
}

/** The version of a database's schema, and the names of the migrations that the database lacks. */
export interface Schema {
  version: number;
  pending: string[];
}

/** @throws StorageError if a newer server created the schema */
export function schemaAt(all: readonly Migration[], version: number): Schema {
  return { version, pending: missingMigrations(all, version).map(({ name }) => name) };
}

/** What a migration did. */
export interface Migrated {
  from: number;
  to: number;
}
