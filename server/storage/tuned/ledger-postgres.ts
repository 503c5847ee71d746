import { ACCOUNT_COLUMNS, ENTRY_COLUMNS } from "../columns.ts";
import type { Entry } from "../ledger-rows.ts";
import type { Work } from "../portable/query.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";

const INSERT = `INSERT INTO entries (${Object.keys(ENTRY_COLUMNS).join(", ")}) SELECT * FROM :rows`;
const ADD = `INSERT INTO accounts (${Object.keys(ACCOUNT_COLUMNS).join(", ")}) SELECT * FROM :rows WHERE true
  ON CONFLICT (merchant_id, epoch, currency) DO UPDATE
  SET available = accounts.available + excluded.available, reserved = accounts.reserved + excluded.reserved`;
const LOCK = `SELECT a.* FROM :rows CROSS JOIN LATERAL (SELECT * FROM accounts WHERE merchant_id = given.merchant_id
  AND epoch = given.epoch AND currency = given.currency FOR UPDATE) AS a`;

const keyOf = (row: Entry | Row) => `${String(row.merchant_id)} ${String(row.currency)} ${String(row.epoch)}`;

/**
 * Adds up entries by account. Transactions lock accounts last and in the order of these rows, so that they cannot
 * deadlock.
 */
function changesOf(entries: readonly Entry[]) {
  const groups = [...Map.groupBy(entries, keyOf)].toSorted(([a], [b]) => byText(a, b));
  return groups.map(([, [first, ...others]]) => {
    const { merchant_id, epoch, currency } = first!;
    const sumOf = (name: "available" | "reserved") => others.reduce((sum, each) => sum + each[name], first![name]);
    return { merchant_id, epoch, currency, available: sumOf("available"), reserved: sumOf("reserved") };
  });
}

/** Writes entries, and adds them to their accounts. */
export function* book(entries: readonly Entry[]): Work<void> {
  if (entries.length === 0) return;
  yield [
    { text: INSERT, rows: { columns: ENTRY_COLUMNS, values: entries } },
    { text: ADD, rows: { columns: ACCOUNT_COLUMNS, values: changesOf(entries) } },
  ];
}

/** Locks the accounts of these entries, and returns the entries that the balances do not cover, one after the other. */
export function* uncovered(entries: readonly Entry[]): Work<Set<Entry>> {
  if (entries.length === 0) return new Set();
  const [locked] = yield [{ text: LOCK, rows: { columns: ACCOUNT_COLUMNS, values: changesOf(entries) } }];
  const left = new Map(locked!.rows.map((row) => [keyOf(row), BigInt(row.available as string)]));
  return new Set(
    entries.filter((entry) => {
      const after = (left.get(keyOf(entry)) ?? 0n) + entry.available;
      if (after >= 0n) left.set(keyOf(entry), after);
      return after < 0n;
    }),
  );
}
