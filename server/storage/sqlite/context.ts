import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { AuditWriter } from "./audit.ts";
import type { EventWriter } from "./events.ts";
import type { MerchantCache } from "./merchant-cache.ts";
import type { Read, Write } from "./writer.ts";

/** The dependencies of each part of the SQLite storage. */
export interface Context {
  db: DatabaseSync;
  write: Write;
  read: Read;
  /** Real time. */
  now(): number;
  merchantOf: MerchantCache["merchantOf"];
  /** A transaction that changes a merchant or a key must clear it. */
  cache: MerchantCache;
  events: EventWriter;
  audit: AuditWriter;
}

export type Row = Record<string, SQLOutputValue>;

/** Values to store, by column. */
export type Values = Record<string, SQLInputValue>;

/** Returns the value of a nullable column, or undefined for NULL. */
export function optional<T extends SQLOutputValue>(value: SQLOutputValue): T | undefined {
  return value === null ? undefined : (value as T);
}

/** Prepares an INSERT of these columns. Each call stores one row; a column without a value becomes NULL. */
export function insertInto(db: DatabaseSync, table: string, columns: readonly string[]): (values: Values) => void {
  const places = columns.map(() => "?").join(", ");
  const statement = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
  return (values) => void statement.run(...columns.map((column) => values[column] ?? null));
}
