import { closeSync, existsSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";

/** The path of an in-memory database. */
export const MEMORY = ":memory:";

/** Opens a database whose commits survive a power loss. */
export function openDatabase(path: string): DatabaseSync {
  if (path !== MEMORY) mkdirSync(dirname(resolve(path)), { recursive: true });
  // The file holds webhook secrets, so only its owner may read it. SQLite gives the files beside it the same mode.
  if (path !== MEMORY && !existsSync(path)) closeSync(openSync(path, "a", 0o600));
  const db = new DatabaseSync(path);
  // The keys command may write while a server runs. Each waits for the other's lock instead of failing.
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  // Checkpoint every 4,000 pages (16 MiB). References are random, so a page changes many times between rare
  // checkpoints, and each checkpoint copies it only once.
  db.exec("PRAGMA wal_autocheckpoint = 4000");
  // A cache of 64 MiB holds the indexes of a few million records.
  db.exec("PRAGMA cache_size = -65536");
  return db;
}

/**
 * Ensures that only one server uses a database file. The lock is an open transaction on a separate file beside the
 * database, so the operating system releases it when the process ends, even after a crash.
 * @returns a function that releases the lock
 * @throws StorageError if another server holds the lock
 */
export function lockDatabase(path: string): () => void {
  if (path === MEMORY) return () => {};
  mkdirSync(dirname(resolve(path)), { recursive: true });
  // A symbolic link must lead to the same lock.
  const file = existsSync(path) ? realpathSync(path) : path;
  const lock = new DatabaseSync(`${file}.lock`);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new StorageError(`Another server is using ${path}. Stop it, or set DATABASE_URL to another file.`, {
      cause: error,
    });
  }
  return () => lock.close();
}

function isBusy(error: unknown): boolean {
  const SQLITE_BUSY = 5;
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}

/**
 * Runs `work`.
 * @throws StorageError in place of any error of `work`; it names the database and says what to do
 */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StorageError(`Cannot open the database ${path}: ${reason}. Check DATABASE_URL.`, { cause: error });
  }
}
