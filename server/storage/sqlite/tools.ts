// What commands read from a SQLite file. Only the server that has a file open can read it, or a command if none has.
import { existsSync, realpathSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { BOOK_QUERIES, provenBooks } from "../books.ts";
import { toWork, WORK, type Checked, type DatabaseStatus } from "../status.ts";
import { StorageError } from "../storage-error.ts";
import { inUnusedFile, schemaOf } from "./database.ts";
import { troubleOf } from "./health.ts";

/** @throws StorageError if the file cannot be opened, or a newer server or another program made it */
export const sqliteStatus = (path: string): DatabaseStatus => inUnusedFile(path, (db) => statusOf(db, path, false));

/** @param inUse true if a server uses the file */
export function statusOf(db: DatabaseSync, path: string, inUse: boolean): DatabaseStatus {
  const file = existsSync(path) ? realpathSync(path) : path;
  const { version, pending } = schemaOf(db);
  const bytes = [file, `${file}-wal`].map((each) => statSync(each, { throwIfNoEntry: false })?.size ?? 0);
  return {
    storage: "sqlite",
    file,
    inUse,
    version,
    pendingMigrations: pending.map(({ name }) => name),
    bytes: bytes.reduce((sum, size) => sum + size),
    ...(pending.length === 0 && toWork(db.prepare(WORK).get()!)),
  };
}

/** Returns what `read` returns, or for a damaged file what `otherwise` returns. */
export function ifSound<T, U = undefined>(read: () => T, otherwise?: (error: Error) => U): T | U {
  try {
    return read();
  } catch (error) {
    const { cause = error } = error as Error;
    if (troubleOf(cause) !== "damaged") throw error;
    return otherwise?.(error as Error) as U;
  }
}

const MOST = 100;

/** A reset that is not finished has deleted only a part of the merchant's rows. */
const EVENTS_OF_NOTHING = `SELECT count(*) AS count FROM events r
  WHERE NOT EXISTS (SELECT 1 FROM disbursements d WHERE d.reference = r.reference)
  AND NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.reference = r.reference)
  AND EXISTS (SELECT 1 FROM merchants m WHERE m.id = r.merchant_id AND m.resetting = 0)`;

/**
 * Checks all pages and indexes of a file, its foreign keys and its books, and whether its records agree with each other.
 * Reads all of it.
 * @throws StorageError if it cannot be opened, or a newer server or another program made it
 */
export const checkSqlite = (path: string): Checked =>
  ifSound(
    () => inUnusedFile(path, check),
    ({ message }) => ({ pages: 0, findings: [message] }),
  );

function check(db: DatabaseSync): Checked {
  const pages = Number(db.prepare("PRAGMA page_count").get()!.page_count);
  const rows = db.prepare(`PRAGMA integrity_check(${MOST})`).all();
  const structure = rows.map(({ integrity_check: found }) => String(found)).filter((found) => found !== "ok");
  // While pages are damaged, findings about records mean nothing.
  return { pages, findings: structure.length > 0 ? structure : recordsOf(db) };
}

function recordsOf(db: DatabaseSync): string[] {
  const orphans = db.prepare("PRAGMA foreign_key_check").all().slice(0, MOST);
  const keys = orphans.map(
    ({ table, parent }) => `A row of ${table} refers to a row of ${parent} that does not exist.`,
  );
  if (schemaOf(db).pending.length > 0) return keys;
  const { count } = db.prepare(EVENTS_OF_NOTHING).get()!;
  const events = count === 0 ? [] : [`${count} events of no payout or checkout`];
  return [...keys, ...events, ...provenBooks(BOOK_QUERIES.map((sql) => db.prepare(sql).all()))];
}

/** @throws StorageError if the file is damaged. Reads all of it. */
export function requireIntact(db: DatabaseSync, path: string): void {
  const found = String(db.prepare("PRAGMA integrity_check(1)").get()!.integrity_check);
  // The first line only names the database.
  if (found !== "ok") throw new StorageError(`${path} is damaged: ${found.split("\n").at(-1)}. Use an undamaged copy.`);
}
