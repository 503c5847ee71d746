import type { DatabaseSync, StatementSync } from "node:sqlite";
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
  /** Whether the balance must cover payouts although the server only tracks balances (D87). */
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

/**
 * Returns a function that stores a row. All rows have the columns of the first, for which the statement is prepared.
 * @param or what happens if the row violates a constraint, such as "OR REPLACE "
 */
export function insertInto<T extends Values>(db: DatabaseSync, table: string, or = ""): (values: T) => void {
  let columns: string[];
  let statement: StatementSync | undefined;
  return (values) => {
    if (!statement) {
      columns = Object.keys(values);
      const places = columns.map(() => "?").join(", ");
      statement = db.prepare(`INSERT ${or}INTO ${table} (${columns.join(", ")}) VALUES (${places})`);
    }
    statement.run(...columns.map((column) => values[column]!));
  };
}
