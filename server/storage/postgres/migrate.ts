import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type ClientBase } from "pg";
import {
  missingMigrations,
  readMigrations,
  requireKnown,
  schemaAt,
  type Migrated,
  type Migration,
  type Schema,
} from "../migrations.ts";
import { StorageError } from "../storage-error.ts";
import { withConnection } from "./connections.ts";
import { isAway, isUnavailable, explanation } from "./errors.ts";
import { BEGIN, leadsToPooler } from "./sessions.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));
/** Identifies the advisory lock of this service's migrations: an arbitrary number that no other program uses. */
const LOCK = 7_305_808_868;
/**
 * How long a migration waits for a lock, in milliseconds. New transactions wait behind the migration, so the time is
 * short. It is shorter than the second after which PostgreSQL ends one side of a deadlock, which could be a payment.
 */
const LOCK_TIMEOUT_MS = 500;
const LONGEST_PAUSE_MS = 2_000;
/** How long to repeat a migration that cannot lock its tables, in milliseconds. */
const PATIENCE_MS = 60_000;
/** How often to look whether another process has finished migrating, in milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Applies the missing migrations, also while processes of the previous version run: each in a transaction of its own, and
 * repeated until it gets its locks. Then builds the missing indexes; other processes can write meanwhile.
 * @param patienceMs how long to repeat a migration that cannot lock its tables
 * @throws StorageError
 */
export const migratePostgres = (url: string, patienceMs = PATIENCE_MS, all = migrations): Promise<Migrated> =>
  withConnection(url, async (client) => {
    if (!(await leadsToPooler(client))) await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
    const from = (await versionOf(client)) ?? 0;
    while (await patiently(client, () => applyNext(client, all), patienceMs));
    const indexes = concurrentIndexes(all);
    if ((await missingIndexes(client, indexes)).length > 0) {
      await withConnection(url, (guard) => buildIndexes(client, guard, indexes, patienceMs));
    }
    return { from, to: all.length };
  });

/** Applies all missing migrations to a database that no server uses, within a transaction. */
export async function migrateWithin(client: ClientBase): Promise<void> {
  await client.query("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
  while (!(await takeTurn(client))) await sleep(LOOK_EVERY_MS);
  await applyAll(client, (await versionOf(client)) ?? 0, migrations);
}

/** Applies the next migration, or all to an empty database. Resolves with false if there was none. */
async function applyNext(client: ClientBase, all: readonly Migration[]): Promise<boolean> {
  await beginTurn(client);
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const version = await versionOf(client);
    const [next] = missingMigrations(all, version ?? 0);
    if (version === undefined) await applyAll(client, 0, all);
    else if (next) await apply(client, next, withoutIndexes(next.sql));
    await client.query("COMMIT");
    return next !== undefined && version !== undefined;
  } catch (error) {
    // A second error would hide the first.
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function applyAll(client: ClientBase, from: number, all: readonly Migration[]): Promise<void> {
  if (from === 0) {
    await client.query("CREATE TABLE IF NOT EXISTS schema_migrations (version bigint PRIMARY KEY)");
  }
  for (const migration of missingMigrations(all, from)) {
    await apply(client, migration, withIndexes(migration.sql));
  }
}

async function apply(client: ClientBase, { name, version }: Migration, sql: string): Promise<void> {
  try {
    await client.query(sql);
    await client.query("INSERT INTO schema_migrations (version) VALUES ($1)", [version]);
  } catch (error) {
    if (!(error instanceof DatabaseError) || isUnavailable(error) || isAway(error)) throw error;
    const reason = explanation(error, "DATABASE_URL");
    throw new StorageError(`Migration ${name} failed, and nothing of it was applied: ${reason}`, { cause: error });
  }
}

/**
 * Keeps other processes from migrating until the transaction ends. Resolves with false if another process is migrating.
 */
async function takeTurn(client: ClientBase): Promise<boolean> {
  // With a parameter, the statement would keep its snapshot, and the transaction would hold up the construction of an
  // index.
  const { rows } = await client.query<{ taken: boolean }>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS taken`);
  return rows[0]!.taken;
}

/**
 * Waits until no other process migrates, and begins a transaction. Each look is a transaction that ends at once:
 * another process that builds an index may wait for the end of every transaction that it has seen.
 */
async function beginTurn(client: ClientBase): Promise<void> {
  for (;;) {
    await client.query(`${BEGIN}; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`);
    if (await takeTurn(client)) return;
    await client.query("ROLLBACK");
    await sleep(LOOK_EVERY_MS);
  }
}

/** Builds the missing indexes, one after the other. @param guard a connection that keeps other processes from migrating */
async function buildIndexes(
  client: ClientBase,
  guard: ClientBase,
  indexes: readonly ConcurrentIndex[],
  patienceMs: number,
): Promise<void> {
  await beginTurn(guard);
  for (const { name, sql } of await missingIndexes(client, indexes)) {
    await patiently(
      client,
      async () => {
        // An index whose construction was interrupted is left behind without being used.
        await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
        await client.query(sql);
      },
      patienceMs,
    );
  }
  await guard.query("COMMIT");
}

/** Repeats work that lost a lock to other transactions. */
async function patiently<T>(client: ClientBase, work: () => Promise<T>, patienceMs: number): Promise<T> {
  const end = performance.now() + patienceMs;
  for (let pause = 100; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageError || isAway(error) || !isUnavailable(error)) throw error;
      if (performance.now() > end) {
        throw new StorageError(`The migration cannot lock the tables that it changes. ${await oldest(client)}`, {
          cause: error,
        });
      }
      await sleep(pause);
    }
  }
}

interface Oldest {
  program: string;
  pid: number;
  seconds: number;
}

/** Names the transaction that most likely holds the lock. */
async function oldest(client: ClientBase): Promise<string> {
  const { rows } = await client.query<Oldest>(
    `SELECT coalesce(nullif(application_name, ''), 'a program without a name') AS program, pid,
       floor(extract(epoch FROM clock_timestamp() - xact_start))::int AS seconds
     FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
     ORDER BY xact_start LIMIT 1`,
  );
  if (!rows[0]) return "Try again.";
  const { program, pid, seconds } = rows[0];
  return `The oldest transaction is that of ${program} (pid ${pid}), for ${seconds} s. When it has ended, try again.`;
}

/** Resolves with the schema's version without changing it. */
export async function schemaOf(client: ClientBase): Promise<Schema> {
  return schemaAt(migrations, (await versionOf(client)) ?? 0);
}

/** Resolves with undefined for an empty database. */
async function versionOf(client: ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
  );
  const names = rows.map(({ name }) => name);
  if (!names.includes("schema_migrations")) {
    if (names.length > 0) throw new Error("it contains the tables of another program");
    return undefined;
  }
  requireKnown(names);
  const found = await client.query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM schema_migrations",
  );
  return found.rows[0]!.version;
}

/** An index on a table that may be large. Its migration creates it with CONCURRENTLY, outside a transaction. */
export interface ConcurrentIndex {
  name: string;
  sql: string;
}

const STATEMENT = /CREATE INDEX CONCURRENTLY (\w+)[^;]+;/g;

export const concurrentIndexes = (all: readonly Migration[]): ConcurrentIndex[] =>
  all.flatMap(({ sql }) => [...sql.matchAll(STATEMENT)].map(([text, name]) => ({ name: name!, sql: text })));

/** The part of a migration that a transaction can apply while others write. */
export const withoutIndexes = (sql: string): string => sql.replaceAll(STATEMENT, "");

/** The whole migration, for a database that nobody else writes to. */
export const withIndexes = (sql: string): string => sql.replaceAll("CREATE INDEX CONCURRENTLY ", "CREATE INDEX ");

/** Resolves with the indexes that do not exist, or whose construction did not end. */
export async function missingIndexes(
  client: ClientBase,
  indexes: readonly ConcurrentIndex[],
): Promise<ConcurrentIndex[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND i.indisvalid`,
  );
  const valid = new Set(rows.map(({ name }) => name));
  return indexes.filter(({ name }) => !valid.has(name));
}
