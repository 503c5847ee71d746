import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Emit } from "../../domain/telemetry.ts";
import type { Entry, Place } from "../ledger-rows.ts";
import type { Values } from "../rows.ts";
import type { FinalRecord } from "../portable/query.ts";
import type { MerchantCache } from "./merchant-cache.ts";
import type { Write } from "./writer.ts";

/** What a merchant has in one currency. */
export interface Account {
  place: Place;
  available: bigint;
  reserved: bigint;
  entries: number;
  /** When the last entry was booked. */
  at: number;
  /** Whether the balance must cover payouts although the server only tracks balances (D95). */
  enforced: boolean;
}

/** The books, inside a transaction. */
export interface Ledger {
  /** The account, whose changes `store` stores. */
  accountOf(place: Place): Account;
  /** Writes entries, and adds them to their accounts in memory. */
  book(entries: readonly Entry[]): void;
  /** Stores the accounts, at the end of each transaction. */
  store(): void;
  /** Forgets the accounts of a transaction that was rolled back. */
  forget(): void;
}

/** The dependencies of each part of the SQLite storage. */
export interface Context {
  db: DatabaseSync;
  write: Write;
  writeNew: Write;
  writeSoon: Write;
  writeUnflushed: Write;
  writeApart: Write;
  /** Real time. */
  now(): number;
  /** The counter that leases are measured with (D47). */
  leased(): number;
  merchantOf: MerchantCache["merchantOf"];
  cache: MerchantCache;
  ledger: Ledger;
  /** Writes the event of a record that has become final, and books its end, inside the transaction of that change. */
  writeEvent(final: FinalRecord): void;
  emit: Emit;
}

export type Row = Record<string, SQLOutputValue>;

/**
 * Prepares an INSERT of these columns. Each call stores one row; a column without a value becomes NULL.
 * @param or what happens if the row violates a constraint, such as "OR REPLACE "
 */
export function insertInto(db: DatabaseSync, table: string, columns: readonly string[], or = "") {
  const places = columns.map(() => "?").join(", ");
  const statement = db.prepare(`INSERT ${or}INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
  return (values: Values): void => void statement.run(...columns.map((column) => values[column] ?? null));
}
