import type { DatabaseSync } from "node:sqlite";
import type { Place } from "../ledger-rows.ts";
import { insertInto, type Account, type Ledger } from "../sqlite/context.ts";

/** The books, inside a transaction. An account is read once and stored once for all entries of a transaction. */
export function createLedger(db: DatabaseSync): Ledger {
  const insert = insertInto(db, "entries");
  const select = db.prepare("SELECT * FROM accounts WHERE merchant_id = ? AND currency = ?");
  const store = insertInto(db, "accounts", "OR REPLACE ");
  /** The accounts that this transaction has read. */
  const accounts = new Map<string, Account>();

  function accountOf({ merchant_id, currency }: Place): Account {
    const name = `${merchant_id} ${currency}`;
    const known = accounts.get(name);
    if (known) return known;
    const row = select.get(merchant_id, currency);
    // Balances are text, because a sum can exceed the largest integer of SQLite.
    const [available, reserved] = [row?.available, row?.reserved].map((text) => BigInt(String(text ?? 0)));
    const [entries, at, enforced] = [row?.entries, row?.at, row?.enforced].map((value) => Number(value ?? 0));
    const place = { merchant_id, currency };
    const account = {
      place,
      available: available!,
      reserved: reserved!,
      entries: entries!,
      at: at!,
      enforced: enforced === 1,
    };
    accounts.set(name, account);
    return account;
  }

  return {
    accountOf,
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
      for (const { place, available, reserved, enforced, ...account } of accounts.values())
        if (account.entries > 0 || enforced)
          store({
            ...place,
            ...account,
            available: `${available}`,
            reserved: `${reserved}`,
            enforced: Number(enforced),
          });
      accounts.clear();
    },
    forget: () => accounts.clear(),
  };
}
