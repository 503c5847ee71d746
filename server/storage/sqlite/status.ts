import { existsSync, realpathSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { toWork, workQuery, type DatabaseStatus } from "../status.ts";
import { inUnusedFile } from "./database.ts";
import { schemaOf } from "./migrate.ts";
import type { Mode } from "../../domain/keys.ts";
import { MODE, modeOfServer, toMode, type FoundMode } from "../mode.ts";
import { troubleOf } from "./health.ts";

/**
 * Reads the status of a database file that no other program uses.
 * @param now real time
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function sqliteStatus(path: string, now: number): DatabaseStatus {
  return inUnusedFile(path, (db) => statusOf(db, path, { now, inUse: false }));
}

const WORK = workQuery({ yes: "1", no: "0", now: ":now" });

export function statusOf(
  db: DatabaseSync,
  path: string,
  { now, inUse }: { now: number; inUse: boolean },
): DatabaseStatus {
  const file = existsSync(path) ? realpathSync(path) : path;
  const schema = schemaOf(db);
  const bytes = [file, `${file}-wal`].map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0);
  return {
    place: { storage: "sqlite", file, inUse },
    schema,
    bytes: bytes.reduce((sum, size) => sum + size),
    ...(schema.pending.length === 0 && { work: toWork(db.prepare(WORK).get({ now })!) }),
  };
}

/**
 * Reads the mode of a database file that no other program uses. Leaves no file behind. A missing or damaged file has no
 * mode.
 */
export function sqliteMode(path: string): FoundMode {
  if (!existsSync(path)) return {};
  // A connection that may write removes the files beside the database when it closes. But such a connection would
  // also apply a log that a crash left behind, which only a process that uses the database should do.
  const readOnly = existsSync(`${realpathSync(path)}-wal`);
  return inUnusedFile(
    path,
    (db) => {
      try {
        return modeOf(db);
      } catch (error) {
        if (troubleOf(error) === "damaged") return {};
        throw error;
      }
    },
    { readOnly },
  );
}

export function modeOf(db: DatabaseSync): FoundMode {
  const isMade = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'mode'").get() !== undefined;
  return isMade ? toMode(db.prepare(MODE).get()!) : {};
}

/**
 * Stores the mode of a database that has none.
 * @throws StorageError if it has the other mode
 */
export function claimMode(db: DatabaseSync, mode: Mode): void {
  db.prepare("INSERT OR IGNORE INTO mode (id, name) VALUES (1, ?)").run(mode);
  modeOfServer(toMode({ mode: db.prepare("SELECT name FROM mode").get()!.name }), mode);
}
