import type { DatabaseSync } from "node:sqlite";
import { ENTRY_COLUMNS } from "../columns.ts";
import type { Entry } from "../ledger-rows.ts";
import { insertInto, type Ledger } from "../sqlite/context.ts";

/** The books, inside a transaction. */
export function createLedger(db: DatabaseSync): Ledger {
  const insert = insertInto(db, "entries", Object.keys(ENTRY_COLUMNS));
  // Balances are text, because a sum can exceed the largest integer of SQLite.
  const select = db.prepare(
    "SELECT available, reserved FROM accounts WHERE merchant_id = ? AND epoch = ? AND currency = ?",
  );
  const store = db.prepare(`INSERT INTO accounts (merchant_id, epoch, currency, available, reserved)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET available = excluded.available, reserved = excluded.reserved`);

  function balanceOf({ merchant_id: id, epoch, currency }: Pick<Entry, "merchant_id" | "epoch" | "currency">) {
    const row = select.get(id, epoch, currency);
    return { available: BigInt(String(row?.available ?? 0)), reserved: BigInt(String(row?.reserved ?? 0)) };
  }

  return {
    covers: (entry) => balanceOf(entry).available + entry.available >= 0n,
    book(entries) {
      for (const entry of entries) {
        insert(entry);
        const { available, reserved } = balanceOf(entry);
        const [a, r] = [available + entry.available, reserved + entry.reserved];
        store.run(entry.merchant_id, entry.epoch, entry.currency, String(a), String(r));
      }
    },
  };
}
