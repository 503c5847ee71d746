import type { Emit } from "../../domain/telemetry.ts";
import { columnsOf, type Columns } from "../schema.ts";
import type { Row, Values } from "../rows.ts";
import type { Sealing } from "../sealing.ts";

export type Database = "sqlite" | "postgres";
/** Where lists begin that are ordered by a time or another number, the greatest first. */
export const LAST = Number.MAX_SAFE_INTEGER;
/** Less than the UUID of any row. */
export const LEAST_UUID = "00000000-0000-0000-0000-000000000000";

export type QueryValue = string | number | bigint | boolean | Uint8Array | null | readonly (string | number)[];

/**
 * A statement that both databases execute, written in PostgreSQL's SQL. Its parameters have names, such as `:merchant`;
 * `:now` and `:leased` are times (postgres/statements.ts), and `:rows` is the table `given` of the query's rows.
 * `sqlite/statements.ts` lists the differences in SQLite.
 */
export interface Query {
  /** Two texts, one for each database, if one text would be slow in one of them. */
  text: string | Readonly<Record<Database, string>>;
  /** Undefined is NULL. Values that the text does not name are ignored. */
  values?: Readonly<Record<string, QueryValue | undefined>>;
  /** PostgreSQL executes the statement once for all rows; SQLite executes it once for each row. No rows: neither does. */
  rows?: GivenRows;
}

export interface GivenRows {
  /** The columns, with their types in PostgreSQL. */
  columns: Columns;
  /** A column without a value is NULL. */
  values: readonly Values[];
}

/**
 * Rows, which all have the columns of the first. Their types are those of the table's columns of the same names; other
 * columns are numbers.
 */
export const given = (table: string, values: readonly Values[]): GivenRows => ({
  columns: columnsOf(table, Object.keys(values[0] ?? {})),
  values,
});

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
  /**
   * When SQLite commits the work: `write` at the end of this turn of the event loop. For work for which no request waits,
   * `writeSoon` with the next write, or a few milliseconds later; `writeUnflushed` also without a flush to disk, unless other
   * work of the commit needs one, so that a power failure can undo it. The default is `write`.
   */
  commit?: "write" | "writeSoon" | "writeUnflushed";
  /** Whether PostgreSQL may run the work again after it was committed (`Database.transaction`). */
  idempotent?: boolean;
  /** True for what a request leaves behind without being asked to, such as a count of attempts, or the entry
   * about an attempt in the audit trail. Errors do not name it. */
  isAside?: boolean;
}

/** A database, as the storage's portable operations use it. */
export interface Executor {
  database: Database;
  /** How webhook secrets are stored. */
  sealing: Sealing;
  /** Executes a statement that only reads. SQLite executes it at once, so that several see the same state. */
  read(query: Query): Promise<readonly Row[]>;
  /** Executes work in a transaction. Resolves with its result after the commit. */
  write<T>(work: () => Work<T>, options?: WriteOptions): Promise<T>;
  /**
   * Returns a function that passes an item to `work` and resolves with its result after the commit. `work` is executed
   * for all items that arrived during the previous commit, in SQLite for those of this turn of the event loop. If it fails
   * because of one of them, it is repeated with each alone.
   * @param options.largest how many items may be in a batch
   */
  together<Item, Result>(
    work: (items: readonly Item[]) => Work<Result[]>,
    options?: WriteOptions & { largest?: number },
  ): (item: Item) => Promise<Result>;
  /**
   * Returns a function that finds the row of given values. In PostgreSQL, look-ups that arrive at the same time share a
   * statement.
   * @param select finds at most one row; names the values as `eachGiven` does
   */
  finder(select: string, columns: Columns): (given: Values) => Promise<Row | undefined>;
  emit: Emit;
}

/** A table whose rows wait for attempts. Its statements are in `queue.ts`. */
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
export const afterLane = (lane: QueueTable["lane"], place: string) =>
  `(merchant_id, ${lane}, next_attempt_at) > (${place}, ${LAST})`;

/** Executes a statement as part of a transaction. */
export function* run(text: Query["text"], values?: Query["values"]): Work<QueryResult> {
  const [result] = yield [{ text, ...(values && { values }) }];
  return result!;
}

/** Executes statements that do not depend on each other, as part of a transaction. */
export function* runAll(queries: readonly Query[]): Work<readonly QueryResult[]> {
  return yield queries;
}

/**
 * A statement that selects rows for each given row, whose columns it names as in `given.merchant_id`. PostgreSQL searches
 * the index for each of them: for a join it may expect many rows, and read the whole table. `select` therefore has a LIMIT,
 * a lock or an aggregate, which keep it apart.
 */
export const eachGiven = (select: string): Query["text"] => ({
  sqlite: select,
  postgres: `SELECT found.* FROM :rows CROSS JOIN LATERAL (${select}) AS found`,
});

/** A statement that inserts rows. @param end such as RETURNING */
export function insertRows(table: string, values: readonly Values[], end = "") {
  const rows = given(table, values);
  const text = `INSERT INTO ${table} (${Object.keys(rows.columns).join(", ")}) SELECT * FROM :rows ${end}`;
  return { text, rows } satisfies Query;
}

/** A statement that inserts rows, except those that were inserted before. */
export const insertNew = (table: string, values: readonly Values[]): Query =>
  insertRows(table, values, "WHERE true ON CONFLICT DO NOTHING");

/** A statement that changes rows, which it finds by `keys`. */
export function updateRows(table: string, keys: readonly string[], values: readonly Values[]): Query {
  const rows = given(table, values);
  const changes = Object.keys(rows.columns).filter((name) => !keys.includes(name));
  const found = keys.map((name) => `t.${name} = given.${name}`).join(" AND ");
  const text = `UPDATE ${table} AS t SET ${changes.map((name) => `${name} = given.${name}`).join(", ")}
    FROM :rows WHERE ${found}`;
  return { text, rows };
}
