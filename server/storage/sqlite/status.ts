import { existsSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { toWork, workQuery, type DatabaseStatus } from "../status.ts";
import { explained } from "./database.ts";
import { schemaOf } from "./migrate.ts";

/**
 * Reads the status of a database file that no other program uses.
 * @param now real time
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function sqliteStatus(path: string, now: number): DatabaseStatus {
  return explained(path, () => {
    const db = new DatabaseSync(realpathSync(path), { readOnly: true });
    try {
      return statusOf(db, path, { now, inUse: false });
    } finally {
      db.close();
    }
  });
}

const WORK = workQuery({ ready: "r.ready = 1", now: ":now" });

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
