import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { NewEntry } from "../../domain/audit.ts";
import type { Emit } from "../../domain/telemetry.ts";
import type { EventReader } from "../event-search.ts";
import type { Values } from "../rows.ts";
import type { EventWriter } from "./events.ts";
import type { MerchantCache } from "./merchant-cache.ts";
import type { Read, Write } from "./writer.ts";

/** The dependencies of each part of the SQLite storage. */
export interface Context {
  db: DatabaseSync;
  write: Write;
  writeNew: Write;
  writeSoon: Write;
  writeUnflushed: Write;
  writeApart: Write;
  read: Read;
  /** Real time. */
  now(): number;
  /** Real time as records are dated with it. */
  dated(): number;
  /** The counter that leases are measured with (D47). */
  leased(): number;
  merchantOf: MerchantCache["merchantOf"];
  /** A transaction that changes a merchant or a key must clear it. */
  cache: MerchantCache;
  events: EventWriter;
  audit: {
    /** Records an action inside its transaction. */
    record(entry: NewEntry): void;
  };
  reader: EventReader;
  emit: Emit;
}

export type Row = Record<string, SQLOutputValue>;

/** Prepares an INSERT of these columns. Each call stores one row; a column without a value becomes NULL. */
export function insertInto(db: DatabaseSync, table: string, columns: readonly string[]): (values: Values) => void {
  const places = columns.map(() => "?").join(", ");
  const statement = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
  return (values) => void statement.run(...columns.map((column) => values[column] ?? null));
}
