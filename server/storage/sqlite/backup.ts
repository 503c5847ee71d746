import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import sqlite, { DatabaseSync } from "node:sqlite";
import type { AskedMode, Mode } from "../../domain/keys.ts";
import { requireBackupOf, requireMode } from "../mode.ts";
import { StorageError } from "../storage-error.ts";
import { explained, MEMORY, modeOf, openDatabase, schemaOf } from "./database.ts";
import { ifSound, requireIntact } from "./tools.ts";

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
  const partial = `${file}.partial-${randomUUID()}`;
  try {
    requireNew(file);
    if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) throw new Error("the database is empty");
    closeSync(openSync(partial, "wx", 0o600));
    await copyPages(db, partial);
    const copy = new DatabaseSync(partial);
    // Without a log, the copy is one file, also while it is read.
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    flush(partial);
    requireNew(file);
    renameSync(partial, file);
    flush(dirname(resolve(file)));
  } catch (error) {
    throw new StorageError(`The backup of ${path} to ${file} failed: ${(error as Error).message}.`, { cause: error });
  } finally {
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

function requireNew(file: string): void {
  if (existsSync(file)) throw new Error("the file exists");
}

/** If the first step of a copy meets a transaction, Node ends the copy with an error that has no code. */
async function copyPages(db: DatabaseSync, file: string): Promise<void> {
  // Node before 22.16 has no copy in steps. The event loop waits for this one.
  if (!("backup" in sqlite)) return void db.prepare("VACUUM INTO ?").run(file);
  for (let tries = 1; ; tries += 1) {
    try {
      await sqlite.backup(db, file, { rate: PAGES });
      return;
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== 0 || tries === MOST_TRIES) throw error;
    }
  }
}

/**
 * Makes the contents of a file, or the new name of a file in a folder, survive a power loss. Windows flushes only what
 * is open for writing, and opens no folders.
 */
function flush(path: string): void {
  const isWindows = process.platform === "win32";
  if (isWindows && statSync(path).isDirectory()) return;
  const descriptor = openSync(path, isWindows ? "r+" : "r");
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

export interface RestoreOptions {
  /** True if a file that exists may be replaced. */
  replace: boolean;
  /** The text to append to the name of the replaced file. */
  suffix: string;
  /** The mode that SANDBOX asks for. */
  mode: AskedMode;
}

/**
 * Replaces a database file by a copy of a backup, and keeps the old file under another name. A crash leaves either the
 * old database or the new database. Returns the version of the backup, and the name of the replaced file, if there was one.
 * @throws StorageError if the backup is damaged or belongs to another program, if another program uses the database, or if
 * the database exists or has another mode and may not be replaced; nothing was changed then
 */
export function restoreSqlite(path: string, backup: string, { replace, suffix, mode }: RestoreOptions) {
  if (path === MEMORY) throw new StorageError("DATABASE_URL names no file. Set it to sqlite:PATH.");
  const isMissing = !existsSync(path);
  if (!isMissing && existsSync(backup) && realpathSync(path) === realpathSync(backup))
    throw new StorageError(`${backup} is the database of DATABASE_URL itself. Name a backup of it.`);
  if (!isMissing && !replace) {
    throw new StorageError(
      `${path} exists. Add --replace to put the backup in its place; the file is kept under another name.`,
    );
  }
  const target = isMissing ? resolve(path) : realpathSync(path);
  const [copy, kept] = [`${target}.restoring`, `${target}.${suffix}`];
  // Keeps other programs out until the new file is in its place. No server can start on a damaged database.
  let db = explained(path, () => ifSound(() => openDatabase(target)));
  const close = () => {
    db?.close();
    db = undefined;
  };
  /** Windows moves and removes no file that is open. */
  const closeOnWindows = () => process.platform === "win32" && close();
  let isReplaced = false;
  try {
    const opened = db;
    const found = opened && ifSound(() => (schemaOf(opened).version > 0 ? modeOf(opened) : undefined));
    const version = copyBackup(backup, copy, (stored) => {
      requireBackupOf(requireMode(found ?? stored, mode, {}), stored);
    });
    explained(path, () => {
      // Makes the old database a single complete file.
      ifSound(() => db?.exec("PRAGMA journal_mode = DELETE"));
      closeOnWindows();
      if (!isMissing) linkSync(target, kept);
      // SQLite would apply a log that is left behind, of a damaged or missing file, to the new file.
      if (existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${kept}-wal`);
      renameSync(copy, target);
      isReplaced = true;
      flush(dirname(target));
    });
    return { version, ...(!isMissing && { kept }) };
  } finally {
    closeOnWindows();
    if (isMissing && !isReplaced) rmSync(target);
    close();
    rmSync(copy, { force: true });
  }
}

/**
 * Copies a backup, which is a single file, checks the copy, and prepares it for a server. Returns its version.
 * @param accept throws unless a backup of this mode may be restored
 * @throws StorageError if the backup is not usable
 */
function copyBackup(backup: string, copy: string, accept: (mode: Mode | undefined) => void): number {
  let db: DatabaseSync | undefined;
  try {
    if (existsSync(`${backup}-wal`)) throw new Error("a program uses it, or has crashed. Copy it with `db backup`");
    copyFileSync(backup, copy);
    chmodSync(copy, 0o600);
    db = new DatabaseSync(copy);
    requireIntact(db, backup);
    const { version } = schemaOf(db);
    if (version === 0) throw new Error("it is empty");
    accept(modeOf(db));
    // A rail may have been asked, since the backup, to pay what waits in the backup. The next program that opens the
    // database has this doubt begin.
    db.exec("UPDATE handovers SET asked_leased = 0 WHERE state = 'waiting'");
    flush(copy);
    return version;
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { message } = error as Error;
    throw new StorageError(`${backup} is no usable backup: ${message}. Name another file.`, { cause: error });
  } finally {
    db?.close();
  }
}
