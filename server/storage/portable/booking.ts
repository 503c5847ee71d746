import { kindOf, type Payment } from "../../domain/records.ts";
import { sandboxTime } from "../../domain/time.ts";
import { byText } from "../postgres/text.ts";
import type { Values } from "../rows.ts";
import type { LockedMerchant } from "./locked-merchant.ts";
import { given, insertRows, type Query, type QueryResult } from "./query.ts";

/** The changes of the four accounts that a merchant has in each currency. Their sum is zero (D87). */
const NONE = { available: 0n, reserved: 0n, fees: 0n, outside: 0n };
type Kind = "reserve" | "capture" | "release" | "credit" | "top-up" | "withdrawal";

/** Where an entry is booked: an account. */
export interface Place {
  merchant_id: string;
  currency: string;
}

/** The row of an entry of the books. @param place with the time, which is sandbox time */
const entry = (place: Place & { reference: string; at: number }, kind: Kind, amounts: Partial<typeof NONE>) =>
  ({ ...place, kind, ...NONE, ...amounts }) satisfies Values;
export type Entry = ReturnType<typeof entry>;

/** BigInt, because the sum of amount and fee can exceed 2^53. */
const sumsOf = (record: Payment) => {
  const [amount, fees] = [BigInt(record.amount), BigInt(record.fee)];
  return { amount, fees, total: amount + fees };
};
const placeOf = ({ merchantId, currency, reference, updatedAt: at }: Payment) => ({
  merchant_id: merchantId,
  currency,
  reference,
  at,
});

/** Reserves the amount of a new payout and its fee. */
export function reserved(record: Payment): Entry {
  const { total } = sumsOf(record);
  return entry(placeOf(record), "reserve", { available: -total, reserved: total });
}

/**
 * What the final status of a record changes: a failed payout costs nothing, and a checkout that was not paid changes
 * nothing.
 */
export function ended(record: Payment): Entry[] {
  const { amount, fees, total } = sumsOf(record);
  const [place, isPaid] = [placeOf(record), record.status === "success"];
  if (kindOf(record) === "checkout")
    return isPaid ? [entry(place, "credit", { available: amount - fees, fees, outside: -amount })] : [];
  return isPaid
    ? [entry(place, "capture", { reserved: -total, fees, outside: amount })]
    : [entry(place, "release", { reserved: -total, available: total })];
}

/** Money that an operator adds to a balance or takes from it now. */
export function adjusted(merchant: LockedMerchant, change: { id: string; currency: string }, amount: bigint): Entry {
  const { id: reference, currency } = change;
  const place = { merchant_id: merchant.id, currency, reference, at: sandboxTime(merchant, merchant.now) };
  return entry(place, amount < 0 ? "withdrawal" : "top-up", { available: amount, outside: -amount });
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

export type Books = ReturnType<typeof toBooks>;
/** The accounts that a transaction has locked, and what it books. @param opened the result of `openQuery` */
export function toBooks({ rows }: QueryResult) {
  const accounts = new Map(
    rows.map((row) => {
      const sums = { available: BigInt(row.available), reserved: BigInt(row.reserved) };
      return [nameOf(row as Place), { ...row, ...sums, enforced: Boolean(row.enforced) } as Account];
    }),
  );
  const entries: Values[] = [];
  const accountOf = (place: Place) => accounts.get(nameOf(place))!;
  return {
    accountOf,
    /** Adds an entry to its account. */
    add(added: Entry): void {
      const account = accountOf(added);
      account.available += added.available;
      account.reserved += added.reserved;
      account.entries += 1;
      account.at = Math.max(account.at, added.at);
      entries.push({ ...added, at: account.at, number: account.entries, balance: String(account.available) });
    },
    /** Takes back an entry, with all that are later in its account, so that they can be added after earlier ones. */
    takeBack(taken: Entry): void {
      const account = accountOf(taken);
      account.available -= taken.available;
      account.reserved -= taken.reserved;
      account.entries -= 1;
      account.at = 0;
    },
    /** Returns the statements that store the accounts and the added entries. @param again for entries that are stored */
    queries(again = ""): Query[] {
      const values = [...accounts.values()].map((account) => ({
        ...account,
        available: String(account.available),
        reserved: String(account.reserved),
        enforced: Number(account.enforced),
      }));
      return [insertRows("entries", entries, again), { text: STORE, rows: given("accounts", values) }];
    },
  };
}
