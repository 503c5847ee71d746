import type { DatabaseSync } from "node:sqlite";
import { bookQueries, provenBooks } from "../books.ts";
import { inUnusedFile } from "./database.ts";
import { schemaOf } from "./migrate.ts";
import { troubleOf } from "./health.ts";
import { StorageError } from "../storage-error.ts";

export interface Checked {
  /** The damages; empty if there are none. At most about a hundred findings. */
  findings: string[];
  /** The number of pages; 0 if it cannot be read because of the damage; absent for PostgreSQL. */
  pages?: number;
}

const MOST = 100;

/** Rules that the schema does not ensure, each with a query for the rows that break it. */
const INVARIANTS: Record<string, string> = {
  "events of no payout or checkout": `events r
    WHERE NOT EXISTS (SELECT 1 FROM disbursements d WHERE d.reference = r.reference)
    AND NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.reference = r.reference)`,
};
/** A reset that is not finished has deleted only a part of the merchant's rows. */
const COMPLETE = "EXISTS (SELECT 1 FROM merchants m WHERE m.id = r.merchant_id AND m.resetting = 0)";

/**
 * Checks all pages and indexes of a database file, its foreign keys and its books, and whether its records agree with
 * each other. Reads all of it. No other program may use it.
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export function checkSqlite(path: string): Checked {
  return inUnusedFile(path, (db) => {
    try {
      return check(db);
    } catch (error) {
      if (troubleOf(error) !== "damaged") throw error;
      return { pages: 0, findings: [(error as Error).message] };
    }
  });
}

function check(db: DatabaseSync): Checked {
  const pages = Number(db.prepare("PRAGMA page_count").get()!.page_count);
  const rows = db.prepare(`PRAGMA integrity_check(${MOST})`).all();
  const structure = rows.map(({ integrity_check: found }) => String(found)).filter((found) => found !== "ok");
  // While pages are damaged, findings about records mean nothing.
  return { pages, findings: structure.length > 0 ? structure : recordsOf(db) };
}

function recordsOf(db: DatabaseSync): string[] {
  const { pending } = schemaOf(db);
  const orphans = db.prepare("PRAGMA foreign_key_check").all().slice(0, MOST);
  const keys = orphans.map(
    ({ table, parent }) => `A row of ${table} refers to a row of ${parent} that does not exist.`,
  );
  if (pending.length > 0) return keys;
  const broken = Object.entries(INVARIANTS).map(([what, rows]) => {
    const { count } = db.prepare(`SELECT count(*) AS count FROM ${rows} AND ${COMPLETE}`).get()!;
    return count === 0 ? undefined : `${String(count)} ${what}`;
  });
  db.exec("BEGIN");
  const books = provenBooks(bookQueries("sqlite").map((sql) => db.prepare(sql).all()));
  db.exec("COMMIT");
  return [...keys, ...broken.filter((each) => each !== undefined), ...books];
}

/** @throws StorageError if the file is damaged. Reads all of it. */
export function requireIntact(db: DatabaseSync, path: string): void {
  const found = String(db.prepare("PRAGMA integrity_check(1)").get()!.integrity_check);
  // The first line only names the database.
  if (found !== "ok") throw new StorageError(`${path} is damaged: ${found.split("\n").at(-1)}. Use an undamaged copy.`);
}
