import { existsSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";
import { createLockFile, createPrivately, keepPrivate } from "./file-modes.ts";
import { adviceOf, isBusy } from "./sqlite-errors.ts";

/** The path of an in-memory database. */
export const MEMORY = ":memory:";

/** The size of the write-ahead log that SQLite keeps for reuse: twice the size of the log at a checkpoint. */
export const LOG_BYTES = 32 * 1024 * 1024;

/** Opens a database whose commits survive a power loss. */
export function openDatabase(path: string): DatabaseSync {
  if (path !== MEMORY) {
    createPrivately(path);
    // A second name would have a separate write-ahead log, which would corrupt the database.
    const found = statSync(path);
    if (found.isFile() && found.nlink > 1) {
      throw new StorageError(`${path} has another hard link. Remove one of the names, then start again.`);
    }
    keepPrivate(path);
  }
  const db = new DatabaseSync(path);
  // While it opens the database, the process may wait for a program that is writing. Later a server retries without
  // blocking its event loop.
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA foreign_keys = ON");
  // Zeroes what is deleted or replaced in the pages that are written anyway.
  db.exec("PRAGMA secure_delete = FAST");
  // Checkpoint every 4,000 pages (16 MiB). A page changes many times between rare checkpoints, and each checkpoint copies
  // it only once.
  db.exec("PRAGMA wal_autocheckpoint = 4000");
  // A long read makes the log grow. After the next checkpoint that copies all of it, the file is cut to this size.
  db.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}`);
  // A commit that makes the file grow walks the whole page cache, so a larger cache makes such commits slower. Creates
  // touch few pages, because references begin with the time (D19). Pages that do not fit into 8 MiB are in the
  // operating system's cache.
  db.exec("PRAGMA cache_size = -8192");
  return db;
}

export interface Lock {
  /** Identifies the lock file, even after the file was deleted. */
  id: string;
  release(): void;
}

/**
 * Ensures that only one server uses a database file. The lock is an open transaction on a separate file beside the
 * database, so the operating system releases it when the process ends, even after a crash.
 * @throws StorageError if another server holds the lock
 */
export function lockDatabase(path: string): Lock {
  if (path === MEMORY) return { id: MEMORY, release: () => {} };
  const file = lockFileOf(path);
  createLockFile(file);
  // Wait for a moment, because `isLocked` of another process takes a lock too.
  const lock = new DatabaseSync(file, { timeout: 100 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new StorageError(`Another server is using ${path}. Stop it, or set DATABASE_URL to another file.`, {
      cause: error,
    });
  }
  const { dev, ino } = statSync(file);
  return { id: `${dev}:${ino}`, release: () => lock.close() };
}

/** A symbolic link leads to the same lock. */
const lockFileOf = (path: string) => `${existsSync(path) ? realpathSync(path) : path}.lock`;

/** True if a server holds the lock of a database file. */
export function isLocked(path: string): boolean {
  const file = lockFileOf(path);
  if (!existsSync(file)) return false;
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    db.close();
  }
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
    throw new StorageError(`Cannot open the database ${path}: ${reason}. ${adviceOf(error)}`, { cause: error });
  }
}
