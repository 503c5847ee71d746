/** The amounts of an entry, in the order of the sums below. */
const AMOUNTS = ["available", "reserved", "fees", "outside"] as const;

/** The entries (ledger-rows.ts) that the books must have, according to the records. */
const EFFECTS = {
  disbursements: (from: string) => `SELECT merchant_id, currency, -(amount + fee) AS available,
      CASE status WHEN 'pending' THEN amount + fee ELSE 0 END AS reserved,
      CASE status WHEN 'success' THEN fee ELSE 0 END AS fees, CASE status WHEN 'success' THEN amount ELSE 0 END AS outside
    FROM ${from} WHERE status <> 'failed'`,
  checkouts: (
    from: string,
  ) => `SELECT merchant_id, currency, amount - fee AS available, 0 AS reserved, fee AS fees, -amount AS outside
    FROM ${from} WHERE status = 'success'`,
};
export type Kind = keyof typeof EFFECTS;
export const KINDS = Object.keys(EFFECTS) as Kind[];
const ENTRIES = `SELECT merchant_id, currency, ${AMOUNTS.join(", ")} FROM entries`;
const IS_PAYMENT = "kind NOT IN ('opening', 'top-up', 'withdrawal')";
/** A reset that is not finished has deleted only a part of the merchant's books. */
const COMPLETE = "JOIN merchants m ON m.id = r.merchant_id AND NOT m.resetting";

/** SQLite's integers end at 2^63, so a sum is read in two parts: multiples of 2^32, and the rest. */
const PART = 2 ** 32;
const sumOf = {
  sqlite: (name: string) => `CAST(sum(r.${name} / ${PART}) AS TEXT) || ' ' || CAST(sum(r.${name} % ${PART}) AS TEXT)`,
  postgres: (name: string) => `'0 ' || sum(r.${name})`,
};

type Row = Readonly<Record<string, unknown>>;
type Books = ReadonlyMap<string, readonly bigint[]>;

/** Sums of rows by merchant and currency, whose columns `amountsOf` reads. */
const sumsOf = (database: keyof typeof sumOf, rows: string) =>
  `SELECT r.merchant_id, r.currency, ${AMOUNTS.map((name) => `${sumOf[database](name)} AS ${name}`).join(", ")}
    FROM (${rows}) r ${COMPLETE} GROUP BY r.merchant_id, r.currency`;

const OF_MERCHANT = "merchant_id = :merchant";
/** The records of a step of `lackQuery`, which takes milliseconds. */
const STEP = 500;
const stepOf = (kind: Kind) => `(SELECT * FROM ${kind}
  WHERE ${OF_MERCHANT} AND merchants_reference > :after AND merchants_reference <= :until
  ORDER BY merchants_reference LIMIT ${STEP}) AS step`;
/** Greater than every reference. */
export const LAST_REFERENCE = "\u{10ffff}";

/** The last reference of a step; no row for the last step. */
export const endOfStep = (kind: Kind) => `SELECT merchants_reference AS until FROM ${kind}
  WHERE ${OF_MERCHANT} AND merchants_reference > :after ORDER BY merchants_reference LIMIT 1 OFFSET ${STEP - 1}`;

const LESS = `merchant_id, currency, ${AMOUNTS.map((name) => `-${name}`).join(", ")}`;
/** Without LATERAL and ORDER BY, a PostgreSQL that has no statistics of its tables may read all entries for each record. */
const entriesOf = {
  sqlite: (step: string) =>
    `SELECT ${LESS} FROM entries WHERE ${OF_MERCHANT} AND reference IN (SELECT reference FROM ${step}) AND ${IS_PAYMENT}`,
  postgres: (step: string) => `SELECT e.* FROM ${step} CROSS JOIN LATERAL (SELECT ${LESS} FROM entries
    WHERE ${OF_MERCHANT} AND reference = step.reference AND ${IS_PAYMENT} ORDER BY kind OFFSET 0) AS e`,
};

/**
 * What the entries lack compared with the records, for a step of a merchant's records. A record and its entries are
 * written together, so each step is right although records change between the steps.
 */
export const lackQuery = (database: keyof typeof sumOf, kind: Kind) =>
  sumsOf(database, `${EFFECTS[kind](stepOf(kind))} UNION ALL ${entriesOf[database](stepOf(kind))}`);

/** The sums of a merchant's corrections. */
export const correctionsQuery = (database: keyof typeof sumOf) =>
  sumsOf(
    database,
    `${ENTRIES} WHERE ${OF_MERCHANT} AND reference > 'correction-' AND reference < 'correction.' AND kind = 'correction'`,
  );

export const amountsOf = (row: Row): bigint[] => AMOUNTS.map((name) => added(row[name] as string));

/** The statements whose rows `provenBooks` compares. The statements must read the same state of the database. */
export function bookQueries(database: keyof typeof sumOf): string[] {
  const effects = KINDS.map((kind) => EFFECTS[kind](kind)).join(" UNION ALL ");
  const sums = [ENTRIES, `${ENTRIES} WHERE ${IS_PAYMENT}`, effects].map((rows) => sumsOf(database, rows));
  return [`SELECT r.* FROM accounts r ${COMPLETE}`, ...sums];
}

/**
 * Proves the books: every balance is the sum of its entries, the sum of all entries is zero, and the entries of payments
 * agree with the payouts and checkouts. Returns what is wrong.
 * @param results the rows of `bookQueries`, in order
 */
export function provenBooks([accounts, ...sums]: readonly (readonly Row[])[]): string[] {
  const balances = new Map(
    accounts!.map((row) => [nameOf(row), [row.available, row.reserved].map((text) => BigInt(text as string))]),
  );
  const [entries, payments, records] = sums.map((rows) => new Map(rows.map((row) => [nameOf(row), amountsOf(row)])));
  const kept = new Map([...entries!].map(([name, amounts]) => [name, amounts.slice(0, 2)]));
  const unbalanced = [...entries!].filter(([, amounts]) => amounts.reduce((sum, amount) => sum + amount) !== 0n);
  return [
    ...unbalanced.map(([name]) => `The entries of ${name} do not sum to zero.`),
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
