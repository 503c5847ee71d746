import type { Config } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { Storage, StorageReport } from "../domain/storage.ts";
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
