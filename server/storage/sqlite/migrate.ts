import type { DatabaseSync } from "node:sqlite";
import { requireKnown } from "../columns.ts";
import { missingMigrations, readMigrations, schemaAt, type Migrated, type Schema } from "../migrations.ts";
import { inUnusedFile, openDatabase } from "./database.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));

/** Applies the missing migrations in one transaction. */
export function migrate(db: DatabaseSync, all = migrations): Migrated {
  db.exec("BEGIN IMMEDIATE");
  try {
    const current = versionOf(db);
    for (const { sql } of missingMigrations(all, current)) db.exec(sql);
    db.exec(`PRAGMA user_version = ${all.length}`);
    db.exec("COMMIT");
    return { from: current, to: all.length };
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already rolled back. A failed ROLLBACK would hide the first
    // error.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** The first in-memory database of this process, after its migrations. */
let migratedMemory: Uint8Array | undefined;

/** Like `migrate`, for an in-memory database. Later databases begin as copies, because tests open thousands of them. */
export function migrateMemory(db: DatabaseSync): void {
  if (migratedMemory) return db.deserialize(migratedMemory);
  migrate(db);
  // Older versions of Node cannot serialize a database.
  if ("serialize" in db) migratedMemory = db.serialize();
}

/** Returns the schema's version without changing it. @throws StorageError if a newer server created it */
export const schemaOf = (db: DatabaseSync): Schema => schemaAt(migrations, versionOf(db));

/** Applies the migrations that a file lacks. @throws StorageError if another program uses the file */
export const migrateSqlite = (path: string): Migrated => inUnusedFile(path, (db) => migrate(db), openDatabase);

function versionOf(db: DatabaseSync): number {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  const columns = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .flatMap((table) =>
      db
        .prepare(`PRAGMA table_info("${table.name}")`)
        .all()
        .map(({ name }) => `${table.name}.${name}`),
    );
  requireKnown(migrations, columns, version > 0);
  return version;
}
