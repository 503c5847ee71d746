import type { Row } from "./rows.ts";

/** The amounts of an entry, in the order of the sums below. */
const AMOUNTS = ["available", "reserved", "fees", "outside"] as const;

/** The entries (portable/booking.ts) that the books must have, according to the records. */
const OF_RECORDS = `SELECT merchant_id, currency, -(amount + fee) AS available,
    CASE status WHEN 'pending' THEN amount + fee ELSE 0 END AS reserved,
    CASE status WHEN 'success' THEN fee ELSE 0 END AS fees, CASE status WHEN 'success' THEN amount ELSE 0 END AS outside
  FROM disbursements WHERE status <> 'failed'
  UNION ALL SELECT merchant_id, currency, amount - fee, 0, fee, -amount FROM checkouts WHERE status = 'success'`;
const ENTRIES = `SELECT merchant_id, currency, ${AMOUNTS.join(", ")} FROM entries`;
const IS_PAYMENT = "kind NOT IN ('top-up', 'withdrawal')";
/** A reset that is not finished has deleted only a part of the merchant's books. */
const COMPLETE = "JOIN merchants m ON m.id = r.merchant_id AND NOT m.resetting";

/** SQLite's integers end at 2^63, so a sum is read in two parts: multiples of 2^32, and the rest. */
const PART = 2 ** 32;
const sumOf = {
  sqlite: (name: string) => `CAST(sum(r.${name} / ${PART}) AS TEXT) || ' ' || CAST(sum(r.${name} % ${PART}) AS TEXT)`,
  postgres: (name: string) => `'0 ' || sum(r.${name})`,
};

type Books = ReadonlyMap<string, readonly bigint[]>;

/** Sums of rows by merchant and currency, whose columns `amountsOf` reads. */
const sumsOf = (database: keyof typeof sumOf, rows: string) =>
  `SELECT r.merchant_id, r.currency, ${AMOUNTS.map((name) => `${sumOf[database](name)} AS ${name}`).join(", ")}
    FROM (${rows}) r ${COMPLETE} GROUP BY r.merchant_id, r.currency`;

const amountsOf = (row: Row): bigint[] => AMOUNTS.map((name) => added(row[name] as string));

/** The statements whose rows `provenBooks` compares. The statements must read the same state of the database. */
export function bookQueries(database: keyof typeof sumOf): string[] {
  const sums = [ENTRIES, `${ENTRIES} WHERE ${IS_PAYMENT}`, OF_RECORDS].map((rows) => sumsOf(database, rows));
  return [`SELECT r.* FROM accounts r ${COMPLETE}`, ...sums];
}

/**
 * Proves the books: every balance is the sum of its entries, and the entries of payments agree with the payouts and
 * checkouts. Returns what is wrong. The schema ensures that the sum of each entry is zero.
 * @param results the rows of `bookQueries`, in order
 */
export function provenBooks([accounts, ...sums]: readonly (readonly Row[])[]): string[] {
  const balances = new Map(
    accounts!.map((row) => [nameOf(row), [row.available, row.reserved].map((text) => BigInt(text as string))]),
  );
  const [entries, payments, records] = sums.map((rows) => new Map(rows.map((row) => [nameOf(row), amountsOf(row)])));
  const kept = new Map([...entries!].map(([name, amounts]) => [name, amounts.slice(0, 2)]));
  return [
    ...differences(balances, kept).map((name) => `The balance of ${name} is not the sum of its entries.`),
    ...differences(payments!, records!).map(
      (name) => `The entries of ${name} do not agree with the payouts and checkouts.`,
    ),
  ];
}

const nameOf = ({ merchant_id: id, currency }: Row) => `merchant ${String(id)} in ${String(currency)}`;

function added(text: string): bigint {
  const [parts, rest] = text.split(" ").map(BigInt);
  return parts! * BigInt(PART) + rest!;
}

const textOf = (amounts: readonly bigint[] = []) => (amounts.every((amount) => amount === 0n) ? "" : amounts.join());

/** The names whose amounts differ. An account without amounts is empty. */
function differences(some: Books, others: Books): string[] {
  const names = [...new Set([...some.keys(), ...others.keys()])].toSorted();
  return names.filter((name) => textOf(some.get(name)) !== textOf(others.get(name)));
}
