import type { DatabaseSync } from "node:sqlite";
import { missingMigrations, readMigrations } from "../migrations.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));

/** Applies the missing migrations in one transaction. A concurrent process waits, then finds the schema up to date. */
export function migrate(db: DatabaseSync): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const { user_version: current } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    if (current === 0 && db.prepare("SELECT 1 FROM sqlite_schema").get()) {
      throw new Error("it contains the tables of another program");
    }
    for (const { sql } of missingMigrations(migrations, current)) db.exec(sql);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}
