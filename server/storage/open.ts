import type { Config } from "../config.ts";
import { openSqlite } from "./sqlite/index.ts";
import type { Storage } from "../domain/storage.ts";

/**
 * Opens the storage that DATABASE_URL names.
 * @param options.server whether it is for a server, of which a SQLite file takes one alone
 * @throws StorageError with what to do about it
 */
export async function openStorage(database: Config["database"], options: { server: boolean }): Promise<Storage> {
  return openSqlite(database.path, options);
}
