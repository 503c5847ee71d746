import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Emit } from "../../domain/telemetry.ts";
import type { Entry, Place } from "../ledger-rows.ts";
import { OWNER_COLUMNS, toOwner, toStored, type Row, type Values } from "../rows.ts";
import type { FinalRecord } from "../portable/query.ts";
import type { Writer } from "./writer.ts";

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
export interface Context extends Writer {
  db: DatabaseSync;
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

export type MerchantCache = ReturnType<typeof createMerchantCache>;

/**
 * Caches merchants, keys and their owners, which every request needs. A transaction that changes one of them, or is rolled
 * back, must clear the cache.
 */
export function createMerchantCache(db: DatabaseSync) {
  const caches: Map<string, unknown>[] = [];

  function cached<T>(sql: string, convert: (row: Row) => T): (key: string) => T | undefined {
    const select = db.prepare(sql);
    const known = new Map<string, T>();
    caches.push(known);
    return (key) => {
      const found = known.get(key);
      if (found) return found;
      const row = select.get(key);
      if (!row) return undefined;
      const converted = convert(row);
      known.set(key, converted);
      return converted;
    };
  }

  return {
    merchantOf: cached("SELECT * FROM merchants WHERE id = ?", toStored),
    /** The merchant with the key of this hash, unless the key is revoked. */
    ownerOf: cached(
      `SELECT ${OWNER_COLUMNS} FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
        WHERE k.hash = unhex(?) AND k.revoked_at IS NULL`,
      toOwner,
    ),
    /** The stored limits of a key, who created it, and whether it is revoked. */
    keyOf: cached<Row>("SELECT limits, created_by, revoked_at FROM api_keys WHERE id = ?", (row) => row),
    clear() {
      for (const each of caches) each.clear();
    },
  };
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
