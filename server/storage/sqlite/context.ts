import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Events } from "./events.ts";
import type { KeyCache } from "./key-cache.ts";
import type { Write } from "./writer.ts";

/** What each part of the SQLite storage works with. */
export interface Context {
  db: DatabaseSync;
  write: Write;
  events: Events;
  keys: KeyCache;
}

export type Row = Record<string, SQLOutputValue>;

/** For a column that may be null: its value, or undefined. */
export function optional<T extends SQLOutputValue>(value: SQLOutputValue): T | undefined {
  return value === null ? undefined : (value as T);
}
