import type { Config } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { Storage, StorageReport } from "../domain/storage.ts";
import { openPostgres } from "./postgres/index.ts";
import { backupSqlite } from "./sqlite/backup.ts";
import { openSqlite } from "./sqlite/index.ts";
import { StorageError } from "./storage-error.ts";

/**
 * Opens the storage that DATABASE_URL names.
 * @param options.server true if a server opens it; only one server may use a SQLite file, any number a PostgreSQL database
 * @throws StorageError whose message says what to do
 */
export async function openStorage(
  database: Config["database"],
  options: { clock: Clock; server: boolean; report?: StorageReport },
): Promise<Storage> {
  return database.kind === "postgres" ? openPostgres(database.url, options) : openSqlite(database.path, options);
}

/**
 * Writes a copy of the database into a new file, also while a server writes to it. The copy contains every commit from
 * before the call.
 * @throws StorageError if the file exists or cannot be written, or if the database is not SQLite
 */
export async function backupStorage(database: Config["database"], file: string): Promise<void> {
  if (database.kind === "postgres") {
    throw new StorageError(
      'Back up PostgreSQL with its own program: pg_dump --format=custom --file=FILE "$DATABASE_URL"',
    );
  }
  backupSqlite(database.path, file);
}
