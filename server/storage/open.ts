import type { Config } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { Storage, StorageReport } from "../domain/storage.ts";
import { backupSqlite } from "./sqlite/backup.ts";
import { openSqlite } from "./sqlite/index.ts";

/**
 * Opens the storage that DATABASE_URL names.
 * @param options.server true if a server opens it; only one server may use a SQLite file
 * @throws StorageError whose message says what to do
 */
export async function openStorage(
  database: Config["database"],
  options: { clock: Clock; server: boolean; report?: StorageReport },
): Promise<Storage> {
  return openSqlite(database.path, options);
}

/**
 * Writes a copy of the database into a new file, also while a server writes to it. The copy contains every commit from
 * before the call.
 * @throws StorageError if the file exists or cannot be written
 */
export async function backupStorage(database: Config["database"], file: string): Promise<void> {
  backupSqlite(database.path, file);
}
