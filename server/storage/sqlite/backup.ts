import { closeSync, existsSync, fsyncSync, linkSync, openSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { backup as copyInto, DatabaseSync } from "node:sqlite";
import type { AskedMode, Mode } from "../../domain/keys.ts";
import { modeAfterRestore } from "../mode.ts";
import { StorageError } from "../storage-error.ts";
import { explained, MEMORY, openDatabase, schemaOf } from "./database.ts";
import { ifSound, modeOf, requireIntact } from "./tools.ts";

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
  const partial = `${file}.partial-${process.pid}`;
  let descriptor: number;
  try {
    if (existsSync(file)) throw new Error("it exists");
    descriptor = openSync(partial, "wx+", 0o600);
  } catch (error) {
    throw new StorageError(`Cannot create ${file}: ${(error as Error).message}. Choose another file.`, {
      cause: error,
    });
  }
  try {
    if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) throw new Error("the database is empty");
    await copyPages(db, partial);
    const copy = new DatabaseSync(partial);
    // Without a log, the copy is one file, also while it is read.
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    fsyncSync(descriptor);
    if (existsSync(file)) throw new Error("it exists");
    renameSync(partial, file);
    flushFolder(dirname(resolve(file)));
  } catch (error) {
    throw new StorageError(`The backup of ${path} to ${file} failed: ${(error as Error).message}.`, { cause: error });
  } finally {
    closeSync(descriptor);
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  }
}

/** If the first step of a copy meets a transaction, Node ends the copy with an error that has no code. */
async function copyPages(db: DatabaseSync, file: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await copyInto(db, file, { rate: PAGES });
      return;
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== 0 || tries === MOST_TRIES) throw error;
    }
  }
}

/** Makes the new name of a file survive a power loss. */
function flushFolder(folder: string): void {
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

export interface RestoreOptions {
  /** True if a file that exists may be replaced. */
  replace: boolean;
  /** The text to append to the name of the replaced file. */
  suffix: string;
  /** The mode that SANDBOX asks for. */
  mode: AskedMode;
}

export interface Restored {
  version: number;
  /** The replaced file, if there was one. */
  kept?: string;
}

/**
 * Replaces a database file by a copy of a backup, and keeps the old file under another name. A crash leaves either the
 * old database or the new database.
 * @throws StorageError if the backup is damaged or belongs to another program, if another program uses the database, or if
 * the database exists or has another mode and may not be replaced; nothing was changed then
 */
export async function restoreSqlite(path: string, backup: string, options: RestoreOptions): Promise<Restored> {
  if (path === MEMORY) throw new StorageError("DATABASE_URL names no file. Set it to sqlite:PATH.");
  const source = openBackup(path, backup);
  return replaceBy(source, { path, backup }, options).finally(() => source.close());
}

async function replaceBy(
  source: DatabaseSync,
  { path, backup }: Record<"path" | "backup", string>,
  { replace, suffix, mode: asked }: RestoreOptions,
): Promise<Restored> {
  const isMissing = !existsSync(path);
  if (!isMissing && !replace) {
    throw new StorageError(
      `${path} exists. Add --replace to put the backup in its place; the file is kept under another name.`,
    );
  }
  const target = isMissing ? resolve(path) : realpathSync(path);
  const [copy, kept] = [`${target}.restoring`, `${target}.${suffix}`];
  // Keeps other programs out until the new file is in its place. A damaged database has none, and no server can start on it.
  const db = explained(path, () => ifSound(() => openDatabase(target)));
  let isReplaced = false;
  try {
    const mode = modeAfterRestore(modeOf(source), db ? modeOf(db) : {}, asked);
    rmSync(copy, { force: true });
    await backupSqlite(source, backup, copy);
    explained(path, () => {
      prepare(copy, mode);
      // Makes the old database a single complete file.
      ifSound(() => db?.exec("PRAGMA journal_mode = DELETE"));
      if (!isMissing) linkSync(target, kept);
      // SQLite would apply a log that is left behind, of a damaged or missing file, to the new file.
      if (existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${kept}-wal`);
      renameSync(copy, target);
      isReplaced = true;
      flushFolder(dirname(target));
    });
    return { version: schemaOf(source).version, ...(isMissing ? {} : { kept }) };
  } finally {
    if (isMissing && !isReplaced) rmSync(target);
    db?.close();
    rmSync(copy, { force: true });
  }
}

/** @throws StorageError if the backup is not usable */
function openBackup(path: string, backup: string): DatabaseSync {
  if (!existsSync(backup)) throw new StorageError(`There is no backup at ${backup}.`);
  if (existsSync(path) && realpathSync(path) === realpathSync(backup)) {
    throw new StorageError(`${backup} is the database of DATABASE_URL itself. Name a backup of it.`);
  }
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(backup, { readOnly: true });
    requireIntact(source, backup);
    if (schemaOf(source).version === 0) throw new Error("it is empty");
    return source;
  } catch (error) {
    source?.close();
    if (error instanceof StorageError) throw error;
    const { message } = error as Error;
    throw new StorageError(`${backup} is no usable backup: ${message}. Name another file.`, { cause: error });
  }
}

function prepare(copy: string, mode: Mode | undefined): void {
  const db = new DatabaseSync(copy);
  try {
    if (mode) db.prepare("INSERT OR IGNORE INTO mode (id, name) VALUES (1, ?)").run(mode);
    // A rail may have been asked, since the backup, to pay what waits in the backup. The next program that opens the
    // database has this doubt begin.
    db.exec("UPDATE handovers SET asked_leased = 0 WHERE state = 'waiting'");
    requireIntact(db, copy);
  } finally {
    db.close();
  }
}
