import { closeSync, existsSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";

/** The file that stands for a database in memory. */
export const MEMORY = ":memory:";

/** Opens a database so that what is committed survives a loss of power. */
export function openDatabase(path: string): DatabaseSync {
  if (path !== MEMORY) mkdirSync(dirname(resolve(path)), { recursive: true });
  // It holds webhook secrets: for its owner alone. What SQLite puts beside it takes the same mode.
  if (path !== MEMORY && !existsSync(path)) closeSync(openSync(path, "a", 0o600));
  const db = new DatabaseSync(path);
  // Beside a server the keys command writes too: wait for each other rather than fail.
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  // In pages, 16 MiB: references are random, and a page that several records touch meanwhile is copied back once.
  db.exec("PRAGMA wal_autocheckpoint = 4000");
  // 64 MiB, so that the indexes of a few million records are looked up in memory.
  db.exec("PRAGMA cache_size = -65536");
  return db;
}

/**
 * Makes sure that one server alone uses a database file. The lock is an open transaction on a file of its own beside
 * the database: the operating system drops it when the process ends, however it ends.
 */
export function lockDatabase(path: string): () => void {
  if (path === MEMORY) return () => {};
  mkdirSync(dirname(resolve(path)), { recursive: true });
  // However the file is called, it has one lock.
  const file = existsSync(path) ? realpathSync(path) : path;
  const lock = new DatabaseSync(`${file}.lock`);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new StorageError(
      `Another server is using ${path}. Stop it, or give this one a file of its own in DATABASE_URL.`,
      { cause: error },
    );
  }
  return () => lock.close();
}

function isBusy(error: unknown): boolean {
  const SQLITE_BUSY = 5;
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}

/** @throws StorageError for whatever went wrong while opening a database, with what to do about it */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageError(`Cannot open the database ${path}: ${reason}. Check DATABASE_URL.`, { cause: error });
  }
}
