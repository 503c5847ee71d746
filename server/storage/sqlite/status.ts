import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { toWork, workQuery, type DatabaseStatus } from "../status.ts";
import { explained, isLocked } from "./database.ts";
import { schemaOf } from "./migrate.ts";

/**
 * Reads the status of a database file, also while a server uses it.
 * @param now real time
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function sqliteStatus(path: string, now: number): DatabaseStatus {
  return explained(path, () => {
    const file = realpathSync(path);
    const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    try {
      const schema = schemaOf(db);
      const names = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .all();
      const rows = names.map(({ name }) => [name, db.prepare(`SELECT count(*) AS count FROM ${name}`).get()!.count]);
      const bytes = [file, `${file}-wal`].map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0);
      const isCurrent = schema.pending.length === 0;
      const query = workQuery({ ready: "r.ready = 1", now: ":now" });
      return {
        place: { storage: "sqlite", file, inUse: isLocked(path) },
        schema,
        bytes: bytes.reduce((sum, size) => sum + size),
        rows: Object.fromEntries(rows.toSorted()),
        ...(isCurrent && { work: toWork(db.prepare(query).get({ now })!) }),
      };
    } finally {
      db.close();
    }
  });
}
