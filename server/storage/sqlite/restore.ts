import { existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Mode } from "../../domain/mode.ts";
import { StorageError } from "../storage-error.ts";
import { backupSqlite } from "./backup.ts";
import { explained, lockDatabase, MEMORY, openDatabase } from "./database.ts";
import { storeMode } from "./mode.ts";
import { requireIntact } from "./integrity.ts";
import { schemaOf } from "./migrate.ts";
import { takeOwnership } from "./ownership.ts";
import { isBusy, troubleOf } from "./sqlite-errors.ts";
import { hasServerTable } from "./unused.ts";
import { flushFolder } from "./whole-file.ts";

export interface RestoreOptions {
  /** True if a database that has data may be replaced. */
  replace: boolean;
  /** The text to append to the name of the replaced file. */
  suffix: string;
  /** Real time. */
  now: number;
  /** The mode of the restored database, also if its backup has none. */
  mode?: Mode;
}

export interface Restored {
  version: number;
  /** The replaced file, if there was one. */
  kept?: string;
}

/**
 * Replaces a database file by a copy of a backup, and keeps the old file under another name. A crash leaves either the
 * old database or the new database.
 * @throws StorageError if the backup is damaged or belongs to another program, if a server uses the database, or if the
 * database has data and may not be replaced; nothing was changed then
 */
export function restoreSqlite(path: string, backup: string, { replace, suffix, now, mode }: RestoreOptions): Restored {
  if (path === MEMORY) throw new StorageError("DATABASE_URL names no file. Set it to sqlite:PATH.");
  const version = checkBackup(path, backup);
  const lock = explained(path, () => lockDatabase(path));
  try {
    return explained(path, () => {
      const target = existsSync(path) ? realpathSync(path) : resolve(path);
      const state = stateOf(target, lock.id);
      if (!replace && (state === "data" || state === "damaged")) {
        throw new StorageError(
          `${path} ${state === "data" ? "has data" : "is damaged"}. Add --replace to put the backup in its place; the ` +
            "file is kept under another name.",
        );
      }
      const kept = `${target}.${suffix}`;
      if (existsSync(kept)) throw new StorageError(`${kept} exists. Run the command again.`);
      const copy = `${target}.restoring`;
      rmSync(copy, { force: true });
      try {
        backupSqlite(backup, copy);
        if (mode) storeMode(copy, mode);
        doubtHandovers(copy, now);
        withReadOnly(copy, (db) => requireIntact(db, copy));
        detach(path, target, kept);
        if (state !== "missing") linkSync(target, kept);
        renameSync(copy, target);
        flushFolder(dirname(target));
      } finally {
        rmSync(copy, { force: true });
      }
      return { version, ...(state === "missing" ? {} : { kept }) };
    });
  } finally {
    lock.release();
  }
}

/** A rail may have been asked, since the backup, to pay what waits in the backup. */
function doubtHandovers(copy: string, now: number): void {
  const db = new DatabaseSync(copy);
  try {
    db.prepare("UPDATE handovers SET asked_real = ? WHERE state = 'waiting'").run(now);
  } finally {
    db.close();
  }
}

/** Returns the version of a backup. @throws StorageError if it is not usable */
function checkBackup(path: string, backup: string): number {
  if (!existsSync(backup)) throw new StorageError(`There is no backup at ${backup}.`);
  if (existsSync(path) && realpathSync(path) === realpathSync(backup)) {
    throw new StorageError(`${backup} is the database of DATABASE_URL itself. Name a backup of it.`);
  }
  try {
    const { version } = withReadOnly(backup, (db) => {
      requireIntact(db, backup);
      return schemaOf(db);
    });
    if (version > 0) return version;
    throw new Error("it is empty");
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { message } = error as Error;
    throw new StorageError(`${backup} is no usable backup: ${message}. Name another file.`, { cause: error });
  }
}

function withReadOnly<T>(file: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

type State = "missing" | "empty" | "data" | "damaged";

/** @throws StorageError if a server uses the database although its lock file was deleted */
function stateOf(target: string, lockFile: string): State {
  if ((statSync(target, { throwIfNoEntry: false })?.size ?? 0) === 0) return existsSync(target) ? "empty" : "missing";
  try {
    const db = openDatabase(target);
    try {
      if (hasServerTable(db)) takeOwnership(db, target, lockFile);
      if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) return "empty";
      const isOurs = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'merchants'").get();
      return isOurs && !db.prepare("SELECT 1 FROM merchants LIMIT 1").get() ? "empty" : "data";
    } finally {
      db.close();
    }
  } catch (error) {
    if (troubleOf(error) === "damaged") return "damaged";
    throw error;
  }
}

/**
 * Makes a database a single complete file: SQLite would apply a write-ahead log that is left behind to the new file.
 * The log of a damaged or missing file is moved beside the kept file.
 */
function detach(path: string, target: string, kept: string): void {
  if (existsSync(target)) mergeLog(path, target);
  if (existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${kept}-wal`);
  rmSync(`${target}-shm`, { force: true });
}

/** @throws StorageError if another program has the database open, which would keep writing to the old file */
function mergeLog(path: string, target: string): void {
  const db = new DatabaseSync(target, { timeout: 5_000 });
  try {
    db.exec("PRAGMA journal_mode = DELETE");
  } catch (error) {
    if (troubleOf(error) === "damaged") return;
    if (!isBusy(error)) throw error;
    throw new StorageError(`Another program is using ${path}. Close it, then restore the backup.`, { cause: error });
  } finally {
    db.close();
  }
}
