import { existsSync, realpathSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Mode } from "../../domain/mode.ts";
import { MODE, modeOfServer, toMode, type FoundMode } from "../mode.ts";
import { explained } from "./database.ts";
import { troubleOf } from "./sqlite-errors.ts";

/**
 * Reads the mode of a database file that no other program uses. Leaves no file behind. A missing or damaged file has no
 * mode.
 */
export function sqliteMode(path: string): FoundMode {
  if (!existsSync(path)) return {};
  return explained(path, () => {
    const file = realpathSync(path);
    // A connection that may write removes the files beside the database when it closes. But such a connection would
    // also apply a log that a crash left behind, which only a process that uses the database should do.
    const db = new DatabaseSync(file, { readOnly: existsSync(`${file}-wal`) });
    try {
      return modeOf(db);
    } catch (error) {
      if (troubleOf(error) === "damaged") return {};
      throw error;
    } finally {
      db.close();
    }
  });
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
