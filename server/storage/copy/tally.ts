import { hash } from "node:crypto";
import type { CopiedTable } from "./tables.ts";

/** The properties of a table that must be equal in both databases. */
export interface Tally {
  rows: bigint;
  /** The sums of the columns of money. */
  sums: bigint[];
  /** The sum of a hash of each row, so that the order of rows does not matter. */
  checksum: bigint;
}

type Cells = Readonly<Record<string, string | null>>;

/** The hashed text of a row: its values with this separator between them, and this mark in place of NULL. */
const [SEPARATOR, NULL] = ["\u001f", "\u001e"];
/** The number of hexadecimal digits of a hash that are added up. */
const DIGITS = 15;

/** Returns a tally to which rows can be added. */
export function createTally({ columns, sums: summed }: CopiedTable) {
  const tally: Tally = { rows: 0n, sums: summed.map(() => 0n), checksum: 0n };
  const names = Object.keys(columns);
  return {
    tally,
    add(cells: Cells) {
      const text = names.map((name) => cells[name] ?? NULL).join(SEPARATOR);
      tally.rows += 1n;
      tally.sums = summed.map((name, index) => tally.sums[index]! + BigInt(cells[name]!));
      tally.checksum += BigInt(`0x${hash("sha256", text).slice(0, DIGITS)}`);
    },
  };
}

/** Returns the statement that makes the same tally in PostgreSQL, whose row `toTally` converts. */
export function tallyQuery({ table, columns, sums }: CopiedTable): string {
  const texts = Object.entries(columns).map(([name, type]) =>
    type === "bytea" ? `'\\x' || encode(${name}, 'hex')` : `${name}::text`,
  );
  const text = `array_to_string(ARRAY[${texts.join(", ")}], chr(31), chr(30))`;
  const digits = `left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), ${DIGITS})`;
  const numbers = [
    "count(*)",
    `sum(('x' || ${digits})::bit(${4 * DIGITS})::bigint)`,
    ...sums.map((of) => `sum(${of})`),
  ];
  const columnsOfResult = numbers.map((number, index) => `coalesce(${number}, 0)::text AS n${index}`);
  return `SELECT ${columnsOfResult.join(", ")} FROM ${table}`;
}

export function toTally(row: Readonly<Record<string, string>>): Tally {
  const [rows, checksum, ...sums] = Object.values(row).map(BigInt);
  return { rows: rows!, sums, checksum: checksum! };
}

export const isSame = (a: Tally, b: Tally): boolean =>
  a.rows === b.rows && a.checksum === b.checksum && a.sums.join() === b.sums.join();
