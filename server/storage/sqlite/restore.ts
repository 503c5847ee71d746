import { existsSync, linkSync, mkdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Mode } from "../../domain/keys.ts";
import { StorageError } from "../storage-error.ts";
import { backupSqlite, flushFolder } from "./backup.ts";
import { explained, MEMORY, openDatabase } from "./database.ts";
import { claimMode } from "./status.ts";
import { requireIntact } from "./check.ts";
import { schemaOf } from "./migrate.ts";
import { troubleOf } from "./health.ts";

export interface RestoreOptions {
  /** True if a database that has data may be replaced. */
  replace: boolean;
  /** The text to append to the name of the replaced file. */
  suffix: string;
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
 * @throws StorageError if the backup is damaged or belongs to another program, if another program uses the database, or if
 * the database has data and may not be replaced; nothing was changed then
 */
export async function restoreSqlite(
  path: string,
  backup: string,
  { replace, suffix, mode }: RestoreOptions,
): Promise<Restored> {
  if (path === MEMORY) throw new StorageError("DATABASE_URL names no file. Set it to sqlite:PATH.");
  const version = checkBackup(path, backup);
  const target = existsSync(path) ? realpathSync(path) : resolve(path);
  const copy = `${target}.restoring`;
  // Keeps other programs out until the new file is in its place.
  const { state, db } = explained(path, () => openTarget(target));
  let isReplaced = false;
  try {
    if (!replace && (state === "data" || state === "damaged")) {
      throw new StorageError(
        `${path} ${state === "data" ? "has data" : "is damaged"}. Add --replace to put the backup in its place; the ` +
          "file is kept under another name.",
      );
    }
    const kept = `${target}.${suffix}`;
    if (existsSync(kept)) throw new StorageError(`${kept} exists. Run the command again.`);
    rmSync(copy, { force: true });
    const source = new DatabaseSync(backup, { readOnly: true });
    await backupSqlite(source, backup, copy).finally(() => source.close());
    explained(path, () => {
      prepare(copy, mode);
      if (db) mergeLog(db);
      // SQLite would apply a log that is left behind, of a damaged or missing file, to the new file.
      if (existsSync(`${target}-wal`)) renameSync(`${target}-wal`, `${kept}-wal`);
      if (state !== "missing") linkSync(target, kept);
      renameSync(copy, target);
      isReplaced = true;
      flushFolder(dirname(target));
    });
    return { version, ...(state === "missing" ? {} : { kept }) };
  } finally {
    if (state === "missing" && !isReplaced) rmSync(target);
    db?.close();
    rmSync(copy, { force: true });
  }
}

function prepare(copy: string, mode: Mode | undefined): void {
  const db = new DatabaseSync(copy);
  try {
    if (mode) claimMode(db, mode);
    // A rail may have been asked, since the backup, to pay what waits in the backup. The next program that opens the
    // database has this doubt begin.
    db.exec("UPDATE handovers SET asked_leased = 0 WHERE state = 'waiting'");
    requireIntact(db, copy);
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
    let version: number;
    const db = new DatabaseSync(backup, { readOnly: true });
    try {
      requireIntact(db, backup);
      version = schemaOf(db).version;
    } finally {
      db.close();
    }
    if (version > 0) return version;
    throw new Error("it is empty");
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const { message } = error as Error;
    throw new StorageError(`${backup} is no usable backup: ${message}. Name another file.`, { cause: error });
  }
}

type State = "missing" | "empty" | "data" | "damaged";

/**
 * Takes the database, also one that does not exist yet, so that no server starts on it. None can start on a damaged one.
 * @throws an error of SQLite if another program uses the database
 */
function openTarget(target: string): { state: State; db?: DatabaseSync } {
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const isMissing = !existsSync(target);
  let db: DatabaseSync | undefined;
  try {
    db = openDatabase(target);
    return { state: isMissing ? "missing" : stateOf(db), db };
  } catch (error) {
    db?.close();
    if (troubleOf(error) === "damaged") return { state: "damaged" };
    throw error;
  }
}

function stateOf(db: DatabaseSync): State {
  if (!db.prepare("SELECT 1 FROM sqlite_schema").get()) return "empty";
  const isOurs = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'merchants'").get();
  return isOurs && !db.prepare("SELECT 1 FROM merchants LIMIT 1").get() ? "empty" : "data";
}

/** Makes a database a single complete file. */
function mergeLog(db: DatabaseSync): void {
  try {
    db.exec("PRAGMA journal_mode = DELETE");
  } catch (error) {
    if (troubleOf(error) !== "damaged") throw error;
  }
}
