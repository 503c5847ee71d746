import type { Row } from "./rows.ts";

const AMOUNTS = ["available", "reserved", "fees", "outside"];
/** SQLite's integers end at 2^63, so a sum is read in two parts: multiples of 2^32, and the rest. */
const PART = 2 ** 32;
const partsOf = (name: string) => ["/", "%"].map((part) => `sum(CAST(r.${name} AS bigint) ${part} ${PART})`);

/** Sums by merchant and currency. A reset that is not finished has deleted only a part of the merchant's books. */
const sumsOf = (sums: string, rows: string) => `SELECT r.merchant_id, r.currency, ${sums} FROM (${rows}) r
  JOIN merchants m ON m.id = r.merchant_id AND NOT m.resetting GROUP BY r.merchant_id, r.currency`;
const balanceOf = ["available", "reserved"]
  .map(
    (name) =>
      `${partsOf(name)
        .map((part) => `CAST(${part} AS TEXT)`)
        .join(" || ' ' || ")} AS ${name}`,
  )
  .join(", ");

/** What the entries of payments (portable/booking.ts) exceed those that they must be, according to the records. */
const EXCESS = `SELECT merchant_id, currency, ${AMOUNTS.join(", ")} FROM entries
    WHERE kind NOT IN ('top-up', 'withdrawal')
  UNION ALL SELECT merchant_id, currency, amount + fee, CASE status WHEN 'pending' THEN -(amount + fee) ELSE 0 END,
    CASE status WHEN 'success' THEN -fee ELSE 0 END, CASE status WHEN 'success' THEN -amount ELSE 0 END
  FROM disbursements WHERE status <> 'failed'
  UNION ALL SELECT merchant_id, currency, fee - amount, 0, -fee, amount FROM checkouts WHERE status = 'success'`;
const isExcess = AMOUNTS.flatMap(partsOf).map((part) => `${part} <> 0`);

/** The statements whose rows `provenBooks` compares. The statements must read the same state of the database. */
export const BOOK_QUERIES = [
  sumsOf(balanceOf, "SELECT * FROM entries"),
  `SELECT r.* FROM accounts r JOIN merchants m ON m.id = r.merchant_id AND NOT m.resetting`,
  `${sumsOf("1 AS found", EXCESS)} HAVING ${isExcess.join(" OR ")}`,
];

/**
 * Proves the books: every balance is the sum of its entries, and the entries of payments agree with the payouts and
 * checkouts. Returns what is wrong. The schema ensures that the sum of each entry is zero.
 * @param results the rows of `BOOK_QUERIES`, in order
 */
export function provenBooks([entries, accounts, disagreeing]: readonly (readonly Row[])[]): string[] {
  const sums = new Map(entries!.map((row) => [nameOf(row), [row.available, row.reserved].map(added).join()]));
  const balances = new Map(accounts!.map((row) => [nameOf(row), `${row.available},${row.reserved}`]));
  // An account without entries is empty.
  const wrong = [...new Set([...sums.keys(), ...balances.keys()])].filter(
    (name) => (sums.get(name) ?? "0,0") !== (balances.get(name) ?? "0,0"),
  );
  return [
    ...wrong.toSorted().map((name) => `The balance of ${name} is not the sum of its entries.`),
    ...disagreeing!.map((row) => `The entries of ${nameOf(row)} do not agree with the payouts and checkouts.`),
  ];
}

const nameOf = ({ merchant_id: id, currency }: Row) => `merchant ${String(id)} in ${String(currency)}`;

function added(text: string): bigint {
  const [parts, rest] = text.split(" ").map(BigInt);
  return parts! * BigInt(PART) + rest!;
}
