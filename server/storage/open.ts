import type { Config } from "../config.ts";
import type { Clock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { openSqlite } from "./sqlite/index.ts";

/**
 * Opens the storage that DATABASE_URL names.
 * @param options.server whether a server opens it; only one server may use a SQLite file
 * @throws StorageError with what to do about it
 */
export async function openStorage(
  database: Config["database"],
  options: { clock: Clock; server: boolean },
): Promise<Storage> {
  return openSqlite(database.path, options);
}
