import type { DatabaseSync } from "node:sqlite";
import { explained, lockDatabase, openDatabase } from "./database.ts";
import { takeOwnership } from "./ownership.ts";

/**
 * Runs `work` on a database file that no server uses, and none can until `work` ends.
 * @throws StorageError if a server uses the file, or it cannot be opened
 */
export async function withUnused<T>(path: string, work: (db: DatabaseSync) => Promise<T>): Promise<T> {
  const lock = explained(path, () => lockDatabase(path));
  try {
    const db = explained(path, () => openDatabase(path));
    try {
      // Finds a server whose lock file was deleted.
      explained(path, () => hasServerTable(db) && takeOwnership(db, path, lock.id));
      return await work(db);
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

/** Files of the first versions have no table `server`. */
export const hasServerTable = (db: DatabaseSync) =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'server'").get() !== undefined;
