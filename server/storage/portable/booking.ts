import type { Disbursement, Payment } from "../../domain/records.ts";
import { byText } from "../postgres/text.ts";
import type { StoredMerchant, Values } from "../rows.ts";
import { given, insertRows, type Query, type QueryResult, type Work } from "./query.ts";

/** The changes of the four accounts that a merchant has in each currency. Their sum is zero (D87). */
type Amounts = Readonly<Record<"available" | "reserved" | "fees" | "outside", bigint>>;
type Kind = "reserve" | "capture" | "release" | "credit" | "top-up" | "withdrawal";

const NONE: Amounts = { available: 0n, reserved: 0n, fees: 0n, outside: 0n };

/** The row of an entry of the books. */
export function entry(
  { id }: StoredMerchant,
  { currency, reference, at }: { currency: string; reference: string; at: number },
  kind: Kind,
  amounts: Partial<Amounts>,
) {
  return { merchant_id: id, reference, kind, currency, at, ...NONE, ...amounts } satisfies Values;
}
export type Entry = ReturnType<typeof entry>;
/** Where an entry is booked: an account. */
export type Place = Pick<Entry, "merchant_id" | "currency">;

/** BigInt, because the sum of amount and fee can exceed 2^53. */
const sumsOf = ({ amount, fee }: Payment) => ({
  amount: BigInt(amount),
  fee: BigInt(fee),
  total: BigInt(amount) + BigInt(fee),
});
const placeOf = ({ currency, reference, updatedAt: at }: Payment) => ({ currency, reference, at });

/** Reserves the amount of a new payout and its fee. */
export function reserved(record: Disbursement, merchant: StoredMerchant): Entry {
  const { total } = sumsOf(record);
  return entry(merchant, placeOf(record), "reserve", { available: -total, reserved: total });
}

/**
 * What the final status of a record changes: a failed payout costs nothing, and a checkout that was not paid changes
 * nothing.
 */
export function ended(record: Payment, merchant: StoredMerchant): Entry[] {
  const { amount, fee, total } = sumsOf(record);
  const place = placeOf(record);
  const isPaid = record.status === "success";
  if ("locale" in record)
    return isPaid ? [entry(merchant, place, "credit", { available: amount - fee, fees: fee, outside: -amount })] : [];
  return isPaid
    ? [entry(merchant, place, "capture", { reserved: -total, fees: fee, outside: amount })]
    : [entry(merchant, place, "release", { reserved: -total, available: total })];
}

/** Money that an operator adds to a balance or takes from it. */
export function adjusted(merchant: StoredMerchant, place: Parameters<typeof entry>[1], amount: bigint): Entry {
  const kind = amount < 0 ? "withdrawal" : "top-up";
  return entry(merchant, place, kind, { available: amount, outside: -amount });
}

/** What a merchant has in one currency. BigInt, because a sum can exceed the largest integer of SQLite. */
interface Account extends Place {
  available: bigint;
  reserved: bigint;
  entries: number;
  /** When the last entry was booked. */
  at: number;
  /** Whether the balance must cover payouts although the server only tracks balances (D87). */
  enforced: boolean;
}

/** Accounts that a transaction has locked, and what it books. */
export interface Books {
  accountOf(place: Place): Account;
  /** Adds an entry to its account. */
  add(entry: Entry): void;
  /** Returns the statements that store the accounts and the added entries. */
  queries(): Query[];
}

/** Makes the accounts that do not exist yet, and locks all. An account without entries is shown to nobody. */
export const OPEN = `INSERT INTO accounts (merchant_id, currency, available, reserved)
  SELECT given.merchant_id, given.currency, '0', '0' FROM :rows WHERE true
  ON CONFLICT (merchant_id, currency) DO UPDATE SET entries = accounts.entries RETURNING *`;
const STORE = `UPDATE accounts AS a SET available = given.available, reserved = given.reserved, entries = given.entries,
    at = given.at, enforced = given.enforced
  FROM :rows WHERE a.merchant_id = given.merchant_id AND a.currency = given.currency`;

const nameOf = (place: Place) => `${place.merchant_id} ${place.currency}`;

/** Locks accounts. Transactions lock accounts last and in this order, so that they cannot deadlock. */
export function openQuery(places: readonly Place[]): Query {
  const byName = new Map(places.map((place) => [nameOf(place), place]));
  const sorted = [...byName].toSorted(([a], [b]) => byText(a, b));
  const values = sorted.map(([, { merchant_id, currency }]) => ({ merchant_id, currency }));
  return { text: OPEN, rows: given("accounts", values) };
}

/** @param opened the result of `openQuery` */
export function toBooks({ rows }: QueryResult): Books {
  const accounts = new Map(
    rows.map((row) => {
      const sums = { available: BigInt(row.available), reserved: BigInt(row.reserved) };
      return [nameOf(row as Place), { ...row, ...sums, enforced: Boolean(row.enforced) } as Account];
    }),
  );
  const entries: Values[] = [];
  const accountOf: Books["accountOf"] = (place) => accounts.get(nameOf(place))!;
  return {
    accountOf,
    add(added) {
      const account = accountOf(added);
      account.available += added.available;
      account.reserved += added.reserved;
      account.entries += 1;
      account.at = Math.max(account.at, added.at);
      entries.push({ ...added, at: account.at, number: account.entries, balance: String(account.available) });
    },
    queries() {
      const values = [...accounts.values()].map((account) => ({
        ...account,
        available: String(account.available),
        reserved: String(account.reserved),
        enforced: Number(account.enforced),
      }));
      return [insertRows("entries", entries), { text: STORE, rows: given("accounts", values) }];
    },
  };
}

/** Locks the account of an entry. */
export function* openBooks(place: Place): Work<Books> {
  const [opened] = yield [openQuery([place])];
  return toBooks(opened!);
}

/**
 * A statement of PostgreSQL that books, like `reserved`, the payouts that an INSERT stores, and returns their ids. It saves
 * one of the three round trips of a create.
 */
export const booked = (insert: string) => `WITH stored AS (${insert} RETURNING *), changed AS (
    INSERT INTO accounts (merchant_id, currency, available, reserved, entries, at)
    SELECT merchant_id, currency, -sum(amount::numeric + fee), sum(amount::numeric + fee), count(*), max(updated_at)
    FROM stored GROUP BY merchant_id, currency ORDER BY merchant_id COLLATE "C", currency COLLATE "C"
    ON CONFLICT (merchant_id, currency) DO UPDATE
    SET available = accounts.available + excluded.available, reserved = accounts.reserved + excluded.reserved,
      entries = accounts.entries + excluded.entries, at = greatest(accounts.at, excluded.at)
    RETURNING *
  ), booked AS (
    INSERT INTO entries (merchant_id, reference, kind, currency, at, available, reserved, fees, outside, number, balance)
    SELECT s.merchant_id, s.reference, 'reserve', s.currency, c.at, -s.total, s.total, 0, 0,
      c.entries - s.later, c.available + coalesce(s.later_total, 0)
    FROM (SELECT *, amount::numeric + fee AS total, count(*) OVER later AS later,
        sum(amount::numeric + fee) OVER later AS later_total
      FROM stored WINDOW later AS (PARTITION BY merchant_id, currency ORDER BY reference COLLATE "C"
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS s
    JOIN changed c ON c.merchant_id = s.merchant_id AND c.currency = s.currency
  ) SELECT id FROM stored`;
