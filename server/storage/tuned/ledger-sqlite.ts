import type { DatabaseSync } from "node:sqlite";
import { ACCOUNT_COLUMNS, ENTRY_COLUMNS } from "../columns.ts";
import type { Entry } from "../ledger-rows.ts";
import { insertInto, type Ledger } from "../sqlite/context.ts";

type Place = Pick<Entry, "merchant_id" | "epoch" | "currency">;
interface Account {
  place: Place;
  available: bigint;
  reserved: bigint;
  entries: number;
  /** When the last entry was booked. */
  at: number;
}

/** The books, inside a transaction. An account is read once and stored once for all entries of a transaction. */
export function createLedger(db: DatabaseSync): Ledger {
  const insert = insertInto(db, "entries", Object.keys(ENTRY_COLUMNS));
  const select = db.prepare("SELECT * FROM accounts WHERE merchant_id = ? AND epoch = ? AND currency = ?");
  const store = insertInto(db, "accounts", Object.keys(ACCOUNT_COLUMNS), "OR REPLACE ");
  /** The accounts that this transaction has read. */
  const accounts = new Map<string, Account>();

  function accountOf({ merchant_id, epoch, currency }: Place): Account {
    const name = `${merchant_id} ${epoch} ${currency}`;
    const known = accounts.get(name);
    if (known) return known;
    const row = select.get(merchant_id, epoch, currency);
    // Balances are text, because a sum can exceed the largest integer of SQLite.
    const [available, reserved] = [row?.available, row?.reserved].map((text) => BigInt(String(text ?? 0)));
    const [entries, at] = [row?.entries, row?.at].map((value) => Number(value ?? 0));
    const place = { merchant_id, epoch, currency };
    const account = { place, available: available!, reserved: reserved!, entries: entries!, at: at! };
    accounts.set(name, account);
    return account;
  }

  return {
    covers: (entry) => accountOf(entry).available + entry.available >= 0n,
    book(entries) {
      for (const entry of entries) {
        const account = accountOf(entry);
        account.available += entry.available;
        account.reserved += entry.reserved;
        account.entries += 1;
        account.at = Math.max(account.at, entry.at);
        insert({ ...entry, at: account.at, number: account.entries, balance: String(account.available) });
      }
    },
    store() {
      for (const { place, available, reserved, entries, at } of accounts.values())
        if (entries > 0) store({ ...place, available: String(available), reserved: String(reserved), entries, at });
      accounts.clear();
    },
    forget: () => accounts.clear(),
  };
}
