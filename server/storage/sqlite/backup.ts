import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { StorageError } from "../storage-error.ts";
import { explained, openDatabase } from "./database.ts";

/** The pages that are copied at a time, while the event loop waits. */
const PAGES = 64;
const MOST_TRIES = 1_000;

/**
 * Copies an open database into a new file that only its owner may read. The copy has every commit from before the call,
 * and those that are made meanwhile. The file appears when the copy is complete and flushed to disk; a failed backup
 * leaves nothing behind.
 * @throws StorageError if the file exists or cannot be written, or the database cannot be read
 */
export async function backupSqlite(db: DatabaseSync, path: string, file: string): Promise<void> {
  requireNone(file);
  const partial = `${file}.partial-${process.pid}`;
  const descriptor = createPartial(partial, file);
  try {
    if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) throw new Error("the database is empty");
    await copyPages(db, partial);
    const copy = new DatabaseSync(partial);
    // Without a log, the copy is one file, also while it is read.
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    fsyncSync(descriptor);
    requireNone(file);
    renameSync(partial, file);
    flushFolder(dirname(resolve(file)));
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`The backup of ${path} to ${file} failed: ${(error as Error).message}.`, { cause: error });
  } finally {
    closeSync(descriptor);
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

function requireNone(file: string): void {
  if (existsSync(file)) throw cannotCreate(file, new Error("it exists"));
}

function createPartial(partial: string, file: string): number {
  try {
    return openSync(partial, "wx+", 0o600);
  } catch (error) {
    throw cannotCreate(file, error as Error);
  }
}

const cannotCreate = (file: string, error: Error) =>
  new StorageError(`Cannot create ${file}: ${error.message}. Choose another file.`, { cause: error });

/** If the first step of a copy meets a transaction, Node ends the copy with an error that has no code. */
async function copyPages(db: DatabaseSync, file: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await backup(db, file, { rate: PAGES });
      return;
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== 0 || tries === MOST_TRIES) throw error;
    }
  }
}

/** Makes the new name of a file survive a power loss. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Copies a database that no other program uses. */
export async function backupUnused(path: string, file: string): Promise<void> {
  const db = explained(path, () => openDatabase(path));
  await backupSqlite(db, path, file).finally(() => db.close());
}
