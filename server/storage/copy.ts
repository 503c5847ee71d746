import { hash } from "node:crypto";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { DatabaseError, type Client } from "pg";
import { SCHEMA, type Columns } from "./columns.ts";
import { insertRows, runAll } from "./portable/query.ts";
import { withConnection } from "./postgres/connections.ts";
import type { Query } from "./postgres/database.ts";
import { runIn } from "./postgres/executor.ts";
import { migrateWithin } from "./postgres/migrate.ts";
import { BEGIN } from "./postgres/sessions.ts";
import { encodeText } from "./postgres/text.ts";
import type { Values } from "./rows.ts";
import { explained, openDatabase } from "./sqlite/database.ts";
import { schemaOf } from "./sqlite/migrate.ts";
import { requireIntact } from "./sqlite/tools.ts";
import { StorageError } from "./storage-error.ts";

/** A table of PostgreSQL, and how its rows are read from SQLite. */
interface CopiedTable {
  table: string;
  /** All columns of the table, with their types. */
  columns: Columns;
  /** A query for SQLite with these columns. */
  select: string;
  /** The columns of money. */
  sums: readonly string[];
}

/** The log of requests and the limits of requests are not copied. People have to sign in again. */
const NOT_COPIED = ["request_rates", "request_log", "dashboard_links", "dashboard_sessions"];
const MONEY = ["amount", "fee", "available", "reserved", "fees", "outside", "balance"];

/** What SQLite reads instead of a column of the same name. */
const VALUES: Readonly<Record<string, string>> = {
  // In SQLite one sequence numbers the events of all merchants. New events continue after the last number of this
  // sequence, so that cursors of events stay valid.
  "merchants.last_event": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)",
};

function toCopied(table: string): CopiedTable {
  const columns = SCHEMA.get(table)!;
  const read = Object.keys(columns).map((name) => `${VALUES[`${table}.${name}`] ?? name} AS ${name}`);
  const sums = MONEY.filter((name) => name in columns);
  return { table, columns, select: `SELECT ${read.join(", ")} FROM ${table}`, sums };
}

export const TABLES: readonly CopiedTable[] = [...SCHEMA.keys()]
  .filter((table) => table !== "service" && !NOT_COPIED.includes(table))
  .map(toCopied);

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Returns the values of a row as texts that PostgreSQL reads as the types of their columns. */
function toCells({ columns }: CopiedTable, row: Row): Record<string, string | null> {
  const cells = Object.entries(columns).map(([name, type]) => {
    const value = row[name]!;
    return [name, value === null ? null : toCell(value, type)];
  });
  return Object.fromEntries(cells) satisfies Values;
}

function toCell(value: NonNullable<SQLOutputValue>, type: string): string {
  if (type === "boolean") return value ? "true" : "false";
  if (typeof value === "object") return `\\x${Buffer.from(value).toString("hex")}`;
  return type === "text" ? encodeText(String(value)) : String(value);
}

export type Copied = { table: string; tally: Tally }[];

const BATCH = 1_000;
/** Doubt about payments begins anew, because the destination measures it with a counter of its own. */
const DOUBT = "UPDATE handovers SET asked_leased = (SELECT leased FROM service) WHERE asked_leased IS NOT NULL";

/**
 * Copies a SQLite database into an empty PostgreSQL database, in one transaction. Compares both before it commits.
 * @throws StorageError if another program uses the source, the destination is not empty, or they differ; nothing was copied then
 */
export async function copyToPostgres(path: string, url: string): Promise<Copied> {
  const source = explained(path, () => openDatabase(path));
  try {
    explained(path, () => prepare(source, path));
    return await withConnection(url, (destination) => copyAll(source, destination), "DATABASE_URL_TO");
  } finally {
    source.close();
  }
}

function prepare(source: DatabaseSync, path: string): void {
  if (schemaOf(source).pending.length > 0) {
    throw new StorageError(`${path} has an older version. Bring it to this one with \`db migrate\`, then copy it.`);
  }
  requireIntact(source, path);
}

async function copyAll(source: DatabaseSync, destination: Client): Promise<Copied> {
  await destination.query(BEGIN);
  // Servers that start meanwhile wait for the end of the migration.
  await migrateWithin(destination);
  await requireEmpty(destination);
  const copied: Copied = [];
  try {
    for (const each of TABLES) copied.push({ table: each.table, tally: await copyTable(source, destination, each) });
    for (const [index, each] of TABLES.entries()) await requireSame(destination, each, copied[index]!.tally);
  } catch (error) {
    if (error instanceof StorageError) throw error;
    throw new StorageError(`The copy failed: ${(error as Error).message}. Nothing was copied.`, { cause: error });
  }
  await destination.query(DOUBT);
  await commit(destination);
  return copied;
}

/** Locks the destination's tables, so that no process that has it open can write to them. */
async function requireEmpty(destination: Client): Promise<void> {
  const names = [...TABLES.map(({ table }) => table), ...NOT_COPIED];
  await destination.query("SET LOCAL lock_timeout = '5s'");
  await destination.query(`LOCK TABLE ${[...names, "service"].join(", ")} IN ACCESS EXCLUSIVE MODE`);
  for (const name of names) {
    const { rowCount } = await destination.query(`SELECT 1 FROM ${name} LIMIT 1`);
    if (rowCount === 0) continue;
    throw new StorageError(
      `The destination is not empty: its table ${name} has rows. Set DATABASE_URL_TO to an empty database.`,
    );
  }
}

async function copyTable(source: DatabaseSync, destination: Client, copied: CopiedTable): Promise<Tally> {
  const send: Query = async (text, values) => {
    const { rows, rowCount, command } = await destination.query(text, values as unknown[]);
    return { rows, count: rowCount ?? 0, command };
  };
  const insert = (rows: ReturnType<typeof toCells>[]) => runIn(send, runAll([insertRows(copied.table, rows)]));
  const { tally, add } = createTally(copied);
  const select = source.prepare(copied.select);
  // Otherwise numbers of 2^53 and above would be refused.
  select.setReadBigInts(true);
  let batch: ReturnType<typeof toCells>[] = [];
  for (const row of select.iterate()) {
    const cells = toCells(copied, row);
    add(cells);
    if (batch.push(cells) < BATCH) continue;
    await insert(batch);
    batch = [];
  }
  if (batch.length > 0) await insert(batch);
  return tally;
}

async function requireSame(destination: Client, copied: CopiedTable, expected: Tally): Promise<void> {
  const { rows } = await destination.query<Record<string, string>>(tallyQuery(copied));
  if (isSame(toTally(rows[0]!), expected)) return;
  throw new StorageError(`The copy of the table ${copied.table} differs from the original. Nothing was copied.`);
}

async function commit(destination: Client): Promise<void> {
  try {
    await destination.query("COMMIT");
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof DatabaseError) throw new StorageError(`The copy failed: ${message}. Nothing was copied.`);
    throw new StorageError(
      `The connection was lost during the commit: ${message}. Either everything was copied or nothing; run ` +
        "`db status` with DATABASE_URL set to the destination to see which.",
      { cause: error },
    );
  }
}

/** The properties of a table that must be equal in both databases. */
interface Tally {
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
function createTally({ columns, sums: summed }: CopiedTable) {
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
function tallyQuery({ table, columns, sums }: CopiedTable): string {
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

function toTally(row: Readonly<Record<string, string>>): Tally {
  const [rows, checksum, ...sums] = Object.values(row).map(BigInt);
  return { rows: rows!, sums, checksum: checksum! };
}

const isSame = (a: Tally, b: Tally): boolean =>
  a.rows === b.rows && a.checksum === b.checksum && a.sums.join() === b.sums.join();
