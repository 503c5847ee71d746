import type { Config } from "../config.ts";
import { StorageError } from "./errors.ts";
import { openSqlite } from "./sqlite/index.ts";
import type { Storage } from "./storage.ts";

/**
 * Opens the storage that DATABASE_URL names.
 * @param options.server whether it is for a server, of which a SQLite file takes one alone
 * @throws StorageError with what to do about it
 */
export async function openStorage(database: Config["database"], options: { server: boolean }): Promise<Storage> {
  if (database.kind === "sqlite") return openSqlite(database.path, options);
  throw new StorageError("PostgreSQL is not supported by this version; use DATABASE_URL=sqlite:PATH.");
}
