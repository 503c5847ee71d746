import type { SQLOutputValue } from "node:sqlite";
import { v7 } from "uuid";
import { columnsOf, SCHEMA, type Columns } from "../columns.ts";
import { encodeText } from "../postgres/text.ts";
import type { Values } from "../rows.ts";

/** A table of PostgreSQL, and how its rows are read from SQLite. */
export interface CopiedTable {
  table: string;
  /** All columns of the table, with their types. */
  columns: Columns;
  /** A query for SQLite with these columns. */
  select: string;
  /** The columns of money. */
  sums: readonly string[];
}

/** The log of requests and the limits of requests are not copied. People have to sign in again. */
export const NOT_COPIED = ["request_rates", "request_log", "dashboard_links", "dashboard_sessions"];
const MONEY = ["amount", "fee", "available", "reserved", "fees", "outside", "balance"];

/** What SQLite reads instead of a table and a column of the same name. */
const FROM: Readonly<Record<string, string>> = {
  attempts: "attempts a JOIN events e ON e.id = a.event_id",
  audit: "audit ORDER BY seq",
};
const VALUES: Readonly<Record<string, string>> = {
  // In SQLite one sequence numbers the events of all merchants. New events continue after the last number of this
  // sequence, so that cursors of events stay valid.
  "merchants.last_event": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)",
  "audit.id": "seq",
};

function copied(table: string): CopiedTable {
  const columns = columnsOf(table);
  const read = Object.keys(columns).map((name) => `${VALUES[`${table}.${name}`] ?? name} AS ${name}`);
  const sums = MONEY.filter((name) => name in columns);
  return { table, columns, select: `SELECT ${read.join(", ")} FROM ${FROM[table] ?? table}`, sums };
}

export const TABLES: readonly CopiedTable[] = [...SCHEMA.keys()]
  .filter((table) => table !== "service" && !NOT_COPIED.includes(table))
  .map(copied);

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Returns the values of a row as texts that PostgreSQL reads as the types of their columns. */
export function toCells({ table, columns }: CopiedTable, row: Row): Record<string, string | null> {
  const cells = Object.entries(columns).map(([name, type]) => {
    const value = table === "audit" && name === "id" ? auditId(row) : row[name]!;
    return [name, value === null ? null : toCell(value, type)];
  });
  return Object.fromEntries(cells) satisfies Values;
}

function toCell(value: NonNullable<SQLOutputValue>, type: string): string {
  if (type === "boolean") return value ? "true" : "false";
  if (typeof value === "object") return `\\x${Buffer.from(value).toString("hex")}`;
  return type === "text" ? encodeText(String(value)) : String(value);
}

/** Entries of the same millisecond are in the order of their ids. */
function auditId({ at_real: at, id: position }: Row): string {
  return v7({ msecs: Number(at), seq: Number(position) % 2 ** 31, random: new Uint8Array(16) });
}
