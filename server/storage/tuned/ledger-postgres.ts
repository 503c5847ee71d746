import { columnsOf } from "../columns.ts";
import type { Entry, Place } from "../ledger-rows.ts";
import type { QueryResult, Work } from "../portable/query.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";

const ACCOUNT = "merchant_id, currency";
const OF_ACCOUNT = `${ACCOUNT}, available, reserved, entries, at, enforced`;
const OF_ENTRY = "merchant_id, reference, kind, currency, at, available, reserved, fees, outside";

/**
 * Adds the entries of the common table expression `made` to their accounts, and writes the entries. The changed
 * accounts are the expression `changed`. Transactions lock accounts last and in this order, so that they cannot
 * deadlock.
 */
export const BOOK_MADE = `changed AS (
    INSERT INTO accounts (${OF_ACCOUNT})
    SELECT ${ACCOUNT}, sum(available), sum(reserved), count(*), max(at), false FROM made
    GROUP BY ${ACCOUNT} ORDER BY merchant_id COLLATE "C", currency COLLATE "C"
    ON CONFLICT (${ACCOUNT}) DO UPDATE
    SET available = accounts.available + excluded.available, reserved = accounts.reserved + excluded.reserved,
      entries = accounts.entries + excluded.entries, at = greatest(accounts.at, excluded.at)
    RETURNING *
  ), booked AS (
    INSERT INTO entries (${OF_ENTRY}, number, balance)
    SELECT m.merchant_id, m.reference, m.kind, m.currency, c.at, m.available, m.reserved, m.fees, m.outside,
      c.entries - m.later, c.available - coalesce(m.later_available, 0)
    FROM (SELECT *, count(*) OVER later AS later, sum(available) OVER later AS later_available FROM made
      WINDOW later AS (PARTITION BY ${ACCOUNT} ORDER BY reference COLLATE "C", kind COLLATE "C"
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS m
    JOIN changed c ON c.merchant_id = m.merchant_id AND c.currency = m.currency
  )`;
const BOOK = `WITH made AS (SELECT * FROM :rows), ${BOOK_MADE} SELECT`;
const LOCK = `SELECT a.* FROM :rows CROSS JOIN LATERAL (SELECT * FROM accounts WHERE merchant_id = given.merchant_id
  AND currency = given.currency FOR UPDATE) AS a`;
const ENFORCE = `INSERT INTO accounts (${OF_ACCOUNT}) VALUES (:merchant, :currency, 0, 0, 0, 0, :enforced)
  ON CONFLICT (${ACCOUNT}) DO UPDATE SET enforced = excluded.enforced RETURNING available`;
const LOCKED = columnsOf("accounts", ACCOUNT.split(", "));
const GIVEN = columnsOf("entries", OF_ENTRY.split(", "));

const keyOf = (row: Entry | Row) => `${String(row.merchant_id)} ${String(row.currency)}`;

/** Writes entries, and adds them to their accounts. */
export function* book(entries: readonly Entry[]): Work<void> {
  if (entries.length > 0) yield [{ text: BOOK, rows: { columns: GIVEN, values: entries } }];
}

/**
 * Locks the accounts of these entries. Returns a function that says whether an entry is acceptable: the balance covers
 * it, or need not cover it. The function takes into account the entries of earlier calls.
 */
export function* coverage(entries: readonly Entry[]): Work<(entry: Entry, mustBeCovered: boolean) => boolean> {
  if (entries.length === 0) return () => true;
  const accounts = [...new Map(entries.map((entry) => [keyOf(entry), entry]))].toSorted(([a], [b]) => byText(a, b));
  const [locked] = yield [{ text: LOCK, rows: { columns: LOCKED, values: accounts.map(([, entry]) => entry) } }];
  const left = new Map(locked!.rows.map((row) => [keyOf(row), BigInt(row.available as string)]));
  const enforced = new Set(locked!.rows.filter((row) => row.enforced).map(keyOf));
  return (entry, mustBeCovered) => {
    const key = keyOf(entry);
    const after = (left.get(key) ?? 0n) + entry.available;
    const isAccepted = after >= 0n || !(mustBeCovered || enforced.has(key));
    if (isAccepted) left.set(key, after);
    return isAccepted;
  };
}

/** As in `Executor`. */
export function* lockAccount({ merchant_id: merchant, currency }: Place, enforced?: boolean): Work<bigint> {
  const values = [{ merchant_id: merchant, currency }];
  const [{ rows }] = (yield [
    enforced === undefined
      ? { text: LOCK, rows: { columns: LOCKED, values } }
      : { text: ENFORCE, values: { merchant, currency, enforced } },
  ]) as [QueryResult];
  return BigInt((rows[0]?.available ?? "0") as string);
}
