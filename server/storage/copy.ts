import type { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { DatabaseError, type Client } from "pg";
import { SCHEMA } from "./schema.ts";
import { insertRows } from "./portable/query.ts";
import { withConnection } from "./postgres/connections.ts";
import { migrateWithin } from "./postgres/migrate.ts";
import { BEGIN } from "./postgres/sessions.ts";
import { statements } from "./postgres/statements.ts";
import { explained, openDatabase, schemaOf } from "./sqlite/database.ts";
import { requireIntact } from "./sqlite/tools.ts";
import { StorageError } from "./storage-error.ts";

/** The log of requests and the limits of requests are not copied. People have to sign in again. */
const NOT_COPIED = ["request_rates", "request_log", "dashboard_access"];
const TABLES = [...SCHEMA.keys()].filter((table) => table !== "service" && !NOT_COPIED.includes(table));

/** What SQLite reads instead of a column of the same name. */
const VALUES: Readonly<Record<string, string>> = {
  // In SQLite one sequence numbers the events of all merchants. New events continue after the last number of this
  // sequence, so that cursors of events stay valid.
  "merchants.last_event": "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)",
};

/** The values of a row as texts that PostgreSQL reads as the types of their columns. */
type Cells = Record<string, string | null>;

/** How each database reads the value of a column as a text. */
const CELL = {
  sqlite(value: string, type: string): string {
    if (type === "boolean") return `iif(${value}, 'true', 'false')`;
    if (type === "bytea") return `'\\x' || lower(hex(${value}))`;
    return type === "text" ? value : `CAST(${value} AS TEXT)`;
  },
  // The defaults of a role decide how bytes are converted to text.
  postgres: (value: string, type: string): string =>
    type === "bytea" ? `'\\x' || encode(${value}, 'hex')` : `${value}::text`,
};

const BATCH = 1_000;
/** Doubt about payments begins anew, because the destination measures it with a counter of its own. */
const DOUBT = "UPDATE handovers SET asked_leased = (SELECT leased FROM service) WHERE asked_leased IS NOT NULL";

/**
 * Copies a SQLite database into an empty PostgreSQL database, in one transaction. Compares each row that PostgreSQL has
 * stored with the row that was read. Resolves with the number of rows of each table.
 * @throws StorageError if another program uses the source, the destination is not empty, or they differ; nothing was copied then
 */
export async function copyToPostgres(path: string, url: string) {
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

async function copyAll(source: DatabaseSync, destination: Client) {
  await destination.query(BEGIN);
  // Servers that start meanwhile wait for the end of the migration.
  await migrateWithin(destination);
  await requireEmpty(destination);
  const copied: { table: string; rows: number }[] = [];
  try {
    for (const each of TABLES) copied.push(await copyTable(source, destination, each));
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
  const names = [...TABLES, ...NOT_COPIED];
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

async function copyTable(source: DatabaseSync, destination: Client, table: string) {
  const columns = Object.entries(SCHEMA.get(table)!);
  const read = columns.map(([name, type]) => `${CELL.sqlite(VALUES[`${table}.${name}`] ?? name, type)} AS ${name}`);
  const stored = columns.map(([name, type]) => `${CELL.postgres(name, type)} AS ${name}`);
  let copied = 0;
  const statementOf = statements();
  async function copyBatch(batch: readonly Cells[]) {
    const { text, values } = statementOf(insertRows(table, batch, `RETURNING ${stored.join(", ")}`));
    const { rows } = await destination.query<Cells>(text, values);
    if (!isDeepStrictEqual(textsOf(rows), textsOf(batch)))
      throw new StorageError(`The copy of the table ${table} differs from the original. Nothing was copied.`);
    copied += batch.length;
  }
  let batch: Cells[] = [];
  for (const row of source.prepare(`SELECT ${read.join(", ")} FROM ${table}`).iterate()) {
    if (batch.push(row as Cells) < BATCH) continue;
    await copyBatch(batch);
    batch = [];
  }
  if (batch.length > 0) await copyBatch(batch);
  return { table, rows: copied };
}

/** The rows as texts, whose order does not matter. */
const textsOf = (rows: readonly Cells[]) => rows.map((cells) => JSON.stringify(Object.entries(cells))).toSorted();

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
