import { setTimeout as sleep } from "node:timers/promises";
import type { ClientBase } from "pg";
import { MODE, toMode, type FoundMode } from "../mode.ts";
import { POSTGRES_MIGRATIONS, schemaAt, type Migrated, type Schema } from "../schema.ts";
import { StorageError } from "../storage-error.ts";
import { isAway, isUnavailable } from "./errors.ts";
import { BEGIN } from "./sessions.ts";

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

/**
 * Applies the missing migrations in one transaction, also while processes of the previous version run. Repeats it until it
 * gets its locks.
 * @param patienceMs how long to repeat a migration that cannot lock its tables
 * @throws StorageError
 */
export async function migrate(
  client: ClientBase,
  patienceMs = PATIENCE_MS,
  all = POSTGRES_MIGRATIONS,
): Promise<Migrated> {
  const end = performance.now() + patienceMs;
  for (let pause = 100; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      await client.query(BEGIN);
      const from = await migrateWithin(client, all);
      await client.query("COMMIT");
      return { from, to: all.length };
    } catch (error) {
      // A second error would hide the first.
      await client.query("ROLLBACK").catch(() => undefined);
      if (!isUnavailable(error) || isAway(error)) throw error;
      if (performance.now() > end) {
        throw new StorageError(
          "The migration cannot lock the tables that it changes. Wait for the oldest transaction in pg_stat_activity, " +
            "or end it, then try again.",
          { cause: error },
        );
      }
      await sleep(pause);
    }
  }
}

/**
 * Applies the missing migrations within a transaction, after other processes that migrate have ended theirs. Resolves
 * with the version before.
 */
export async function migrateWithin(client: ClientBase, all = POSTGRES_MIGRATIONS): Promise<number> {
  await client.query("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const { version, pending } = await schemaOf(client, all);
  if (version === 0) await client.query("CREATE TABLE schema_migrations (version bigint PRIMARY KEY)");
  for (const [index, { sql }] of pending.entries()) {
    await client.query(sql);
    await client.query("INSERT INTO schema_migrations (version) VALUES ($1)", [version + index + 1]);
  }
  return version;
}

/** Resolves with the schema's version without changing it. */
export async function schemaOf(client: ClientBase, all = POSTGRES_MIGRATIONS): Promise<Schema> {
  // Under some settings of a role, the views of information_schema are read for minutes.
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`,
  );
  const columns = rows.map(({ name }) => name);
  const versions =
    columns.includes("schema_migrations.version") &&
    (await client.query<{ version: number }>("SELECT max(version) AS version FROM schema_migrations"));
  return schemaAt(all, versions ? versions.rows[0]!.version : 0, columns);
}

/** Reads the mode of a database, also while servers use it. */
export async function postgresMode(client: ClientBase): Promise<FoundMode> {
  const { rows } = await client.query<{ made: boolean }>("SELECT to_regclass('mode') IS NOT NULL AS made");
  return rows[0]!.made ? toMode((await client.query(MODE)).rows[0]) : {};
}
