import { chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Mode } from "../../domain/keys.ts";
import { MODE, requireMode, storeMode, type Asked } from "../mode.ts";
import { schemaAt, SQLITE_MIGRATIONS, type Migrated, type Schema } from "../schema.ts";
import { StorageError } from "../storage-error.ts";
import { adviceOf, isBusy } from "./health.ts";

/**
 * Creates an empty file and its folder, unless they exist, and takes the access of other users to the file away, because
 * the database holds webhook secrets. SQLite gives a new log the mode of the file.
 */
function makePrivate(path: string): void {
  mkdirSync(dirname(resolve(path)), { recursive: true, mode: 0o700 });
  // A second descriptor of an existing file would release the locks of this process. A symbolic link to a missing file,
  // which another user may have put here, is not followed.
  const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  if (!existsSync(path)) closeSync(openSync(path, O_CREAT | O_NOFOLLOW | O_RDWR, 0o600));
  // Windows has no such modes. The log that a crash has left keeps the mode that it has.
  if (process.platform === "win32") return;
  for (const file of [path, `${realpathSync(path)}-wal`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) !== 0) chmodSync(file, mode & 0o700);
  }
}

/** The path of an in-memory database. */
export const MEMORY = ":memory:";

/**
 * Opens a database whose commits survive a power loss. Until it is closed, no other connection can read or write the file.
 * @throws an error of SQLite if another program uses the file
 */
export function openDatabase(path: string): DatabaseSync {
  if (path !== MEMORY) {
    makePrivate(path);
    // The log of a server that crashed stands beside the name that it used. Under a second name its commits would be lost.
    const found = statSync(path);
    if (found.isFile() && found.nlink > 1)
      throw new StorageError(`${path} has another hard link. Remove one of the names, then start again.`);
  }
  const db = new DatabaseSync(path);
  try {
    // SQLite takes the lock at the first access, and the operating system releases it when the process ends, even after
    // a crash. A log that no other process reads needs no -shm file.
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("PRAGMA synchronous = FULL");
    db.exec("PRAGMA foreign_keys = ON");
    // Zeroes what is deleted or replaced in the pages that are written anyway.
    db.exec("PRAGMA secure_delete = FAST");
    // A commit that makes the file grow walks the whole page cache, so a larger cache makes such commits slower. Creates
    // touch few pages, because references begin with the time (D19). Pages that do not fit into 8 MiB are in the
    // operating system's cache.
    db.exec("PRAGMA cache_size = -8192");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Returns a function that tells whether the files of an open database still have their names. What is written to
 * unnamed files is lost when the program ends. Compares no descriptors, because closing one would release SQLite's lock.
 */
export function watchNames(path: string): () => boolean {
  const names = path === MEMORY ? [] : [path, `${realpathSync(path)}-wal`];
  const read = () =>
    names.map((name) => {
      const { dev, ino } = statSync(name, { throwIfNoEntry: false }) ?? {};
      return `${dev} ${ino}`;
    });
  const opened = read();
  return () => {
    try {
      return read().join() === opened.join();
    } catch {
      // A folder that cannot be read proves nothing.
      return true;
    }
  };
}

/** Another program uses the database file: a server, or a command. */
export class FileInUse extends StorageError {
  constructor(path: string, cause: unknown) {
    super(`Another server or command is using ${path}. Stop it, or set DATABASE_URL to another file.`, { cause });
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
    if (isBusy(error)) throw new FileInUse(path, error);
    const { message } = error as Error;
    throw new StorageError(`Cannot open the database ${path}: ${message}. ${adviceOf(error)}`, { cause: error });
  }
}

/** Runs `work` on a file that no other program uses. @throws StorageError in place of any error of `work` */
export function inUnusedFile<T>(path: string, work: (db: DatabaseSync) => T): T {
  return explained(path, () => {
    const db = openDatabase(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  });
}

/** Returns the schema's version without changing it. @throws StorageError if a newer server created it */
export function schemaOf(db: DatabaseSync, all = SQLITE_MIGRATIONS): Schema {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  return schemaAt(all, version, db.prepare("SELECT 1 FROM sqlite_schema").get() !== undefined);
}

/** Applies the missing migrations, and stores the mode of a database that has none, in one transaction. */
export function migrate(db: DatabaseSync, asked: Asked = {}, all = SQLITE_MIGRATIONS): Migrated {
  db.exec("BEGIN IMMEDIATE");
  try {
    const { version: from, pending } = schemaOf(db, all);
    for (const { sql } of pending) db.exec(sql);
    db.exec(`PRAGMA user_version = ${all.length}`);
    if (asked.mode) db.exec(storeMode(requireMode(modeOf(db), asked.mode, asked)));
    db.exec("COMMIT");
    return { from, to: all.length };
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Ends a transaction after an error. After some errors, such as a full disk, SQLite has already rolled back. */
export function rollBack(db: DatabaseSync): void {
  try {
    db.exec("ROLLBACK");
  } catch (error) {
    if (!/no transaction is active/.test((error as Error).message)) throw error;
  }
}

/** Applies the migrations that a file lacks. @throws StorageError if another program uses the file */
export const migrateSqlite = (path: string, asked: Asked): Migrated => inUnusedFile(path, (db) => migrate(db, asked));

/** The mode of a database that has the tables. */
export const modeOf = (db: DatabaseSync): Mode | undefined => db.prepare(MODE).get()?.name as Mode | undefined;

/** The first in-memory database of this process, after its migrations. */
let migratedMemory: Uint8Array | undefined;

/** Like `migrate`, for an in-memory database. Later databases begin as copies, because tests open thousands of them. */
export function migrateMemory(db: DatabaseSync): void {
  if (migratedMemory) return db.deserialize(migratedMemory);
  migrate(db);
  // Older versions of Node cannot serialize a database.
  if ("serialize" in db) migratedMemory = db.serialize();
}
