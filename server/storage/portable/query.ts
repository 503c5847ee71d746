import type { Checkout } from "../../domain/checkouts.ts";
import type { Disbursement } from "../../domain/disbursements.ts";
import type { LaneClaim } from "../../domain/deliveries.ts";
import { columnsOf, type Columns } from "../columns.ts";
import type { Entry, Place } from "../ledger-rows.ts";
import type { Row, StoredMerchant, Values } from "../rows.ts";
import type { Sealing } from "../sealing.ts";

export type Database = "sqlite" | "postgres";
export type QueryValue = string | number | bigint | boolean | Uint8Array | null | readonly (string | number)[];

/**
 * A statement that both databases execute, written in PostgreSQL's SQL. Its parameters have names, such as `:merchant`;
 * `:now` and `:leased` are times (postgres/statements.ts), and `:rows` is the table `given` of the query's rows.
 * `sqlite/executor.ts` lists the differences in SQLite.
 */
export interface Query {
  /** Two texts, one for each database, if the databases store a value differently. */
  text: string | Readonly<Record<Database, string>>;
  /** Values that the text does not name are ignored. */
  values?: Readonly<Record<string, QueryValue>>;
  /** PostgreSQL executes the statement once for all rows; SQLite executes it once for each row. */
  rows?: GivenRows;
}

export interface GivenRows {
  /** The columns, with their types in PostgreSQL. */
  columns: Columns;
  /** A column without a value is NULL. */
  values: readonly Values[];
}

export interface QueryResult {
  rows: readonly Row[];
  /** The number of rows that the statement returned or changed. */
  count: number;
}

/**
 * The statements of a transaction, and the code between them. Each step yields statements that do not depend on each
 * other. It is a generator, because SQLite executes it within one turn of the event loop, and PostgreSQL across several
 * turns. In one turn it can share a commit with the work of other requests (D28).
 */
export type Work<T> = Generator<readonly Query[], T, readonly QueryResult[]>;

export interface WriteOptions {
  /** The function of `Writer` with which SQLite commits the work. The default is `write`. */
  commit?: "write" | "writeNew" | "writeSoon" | "writeUnflushed" | "writeApart";
  /** Whether PostgreSQL may run the work again after it was committed (`Queries.transaction`). */
  repeatable?: boolean;
  /** True for what a request leaves behind without being asked to, such as a count of attempts, or the entry
   * about an attempt in the audit trail. Errors do not name it. */
  isAside?: boolean;
}

/** A database, as the storage's portable operations use it. */
export interface Executor {
  database: Database;
  /** How webhook secrets are stored. */
  sealing: Sealing;
  /** Executes a statement that only reads. */
  read(query: Query): Promise<readonly Row[]>;
  /** Executes statements that only read. SQLite reads them in one transaction. */
  readAll(queries: readonly Query[]): Promise<(readonly Row[])[]>;
  /** Executes work in a transaction. Resolves with its result after the commit. */
  write<T>(work: () => Work<T>, options?: WriteOptions): Promise<T>;
  /**
   * Returns a function that passes an item to `work` and resolves with its result after the commit. PostgreSQL executes
   * `work` for all items that arrived during the previous commit. `work` may be repeated with the same items.
   */
  together<Item, Result>(work: (items: readonly Item[]) => Work<Result[]>): (item: Item) => Promise<Result>;
  /**
   * Claims ready rows of a queue inside a transaction. Returns them as the claim left them, in the order of the lanes, and
   * within a lane in the order in which they fell due.
   */
  claim(queue: QueueTable, lanes: readonly LaneClaim[], leaseMs: number): Work<readonly Row[]>;
  /**
   * Writes the events of records that have become final, and books their ends, inside the transaction of that change. The transaction has the
   * merchants locked in `order`.
   */
  writeEvents(records: readonly FinalRecord[]): Work<void>;
  /**
   * Locks an account, and returns the available balance.
   * @param enforced if present, makes the account, and sets whether its balance must cover payouts
   */
  lockAccount(place: Place, enforced?: boolean): Work<bigint>;
  /** Writes entries of the books, and adds them to their accounts. A transaction takes these locks last. */
  book(entries: readonly Entry[]): Work<void>;
}

export interface FinalRecord {
  record: Disbursement | Checkout;
  merchant: StoredMerchant;
}

/**
 * A table whose rows wait for attempts. Its statements are in `queue.ts`, except claims, which are in the folder
 * `tuned`.
 */
export interface QueueTable {
  name: "events" | "handovers";
  /** The column that makes a lane with the merchant. */
  lane: "host" | "rail";
  /** The column that orders rows that fell due in the same millisecond. */
  order: "seq" | "id";
  /** What else changes when a row becomes due, also because its lease has ended. May name `:leased`. */
  lapse?: string;
}

/**
 * The condition that a row is in a later lane than `place`, a merchant and a lane, for an index on merchant, lane and time. With
 * the merchant and the lane alone, SQLite would read the rest of the earlier lane.
 */
export const afterLane = (lane: QueueTable["lane"], place = "?, ?") =>
  `(merchant_id, ${lane}, next_attempt_at) > (${place}, ${Number.MAX_SAFE_INTEGER})`;

/** Executes a statement as part of a transaction. */
export function* run(text: Query["text"], values?: Query["values"]): Work<QueryResult> {
  const [result] = yield [{ text, ...(values && { values }) }];
  return result!;
}

/** Executes a statement for rows, as part of a transaction. Returns the rows that the statement returns. */
export function* runRows(text: string, columns: Columns, values: readonly Values[]): Work<readonly Row[]> {
  if (values.length === 0) return [];
  const [result] = yield [{ text, rows: { columns, values } }];
  return result!.rows;
}

/** Executes statements that do not depend on each other, as part of a transaction. */
export function* runAll(queries: readonly Query[]): Work<readonly QueryResult[]> {
  return yield queries;
}

/**
 * A statement that merges ranges of an index, which are each in `order`. In PostgreSQL each part has an end of its own: without
 * it, PostgreSQL would read the whole part and sort it.
 * @param end the limit, and where the merged rows begin
 * @param endOfPart the limit of a part; contains the rows before that place
 */
export function mergedRanges(
  database: Database,
  selects: readonly string[],
  order: string,
  end: string,
  endOfPart = end,
) {
  const part = (select: string) => (database === "postgres" ? `(${select} ${order} ${endOfPart})` : select);
  return `${selects.length === 1 ? selects[0]! : selects.map(part).join(" UNION ALL ")} ${order} ${end}`;
}

/** A statement that inserts rows, which all have the columns of the first. @param end such as RETURNING */
export function insertRows(table: string, values: readonly Values[], end = "") {
  const columns = columnsOf(table, Object.keys(values[0]!));
  const text = `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) SELECT * FROM :rows ${end}`;
  return { text, rows: { columns, values } } satisfies Query;
}

/** A statement that inserts rows, except those that were inserted before. */
export const insertNew = (table: string, values: readonly Values[]): Query =>
  insertRows(table, values, "WHERE true ON CONFLICT DO NOTHING");

/** Attempts have a merchant only in PostgreSQL, whose tables could be distributed by it. */
export const onAttempts = (text: (which: string) => string): Query["text"] => ({
  sqlite: text("event_id"),
  postgres: text("merchant_id = :merchant AND event_id"),
});
