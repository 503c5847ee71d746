import type { ClientBase } from "pg";
import { MODE, requireMode, storeMode, type Asked } from "../mode.ts";
import { POSTGRES_MIGRATIONS, schemaAt, type Migrated, type Schema } from "../schema.ts";
import { StorageAway } from "../storage-error.ts";
import { mayRecover, isUnavailable } from "./errors.ts";
import { BEGIN } from "./sessions.ts";

/** Identifies the advisory lock of this service's migrations: an arbitrary number that no other program uses. */
const LOCK = 7_305_808_868;
/**
 * How long a migration waits for a lock, in milliseconds. New transactions wait behind the migration, so the time is
 * short. It is shorter than the second after which PostgreSQL ends one side of a deadlock, which could be a payment.
 */
const LOCK_TIMEOUT_MS = 500;

/**
 * Applies the missing migrations, and stores the mode of a database that has none, in one transaction. Processes of the
 * previous version may run meanwhile.
 * @throws StorageError; it is a `StorageAway` if the tables that change cannot be locked at the moment
 */
export async function migrate(client: ClientBase, asked: Asked = {}, all = POSTGRES_MIGRATIONS): Promise<Migrated> {
  try {
    await client.query(BEGIN);
    const from = await migrateWithin(client, all);
    if (asked.mode) {
      const { rows } = await client.query(MODE);
      await client.query(storeMode(requireMode(rows[0]?.name, asked.mode, asked)));
    }
    await client.query("COMMIT");
    return { from, to: all.length };
  } catch (error) {
    // A second error would hide the first.
    await client.query("ROLLBACK").catch(() => undefined);
    if (!isUnavailable(error) || mayRecover(error)) throw error;
    throw new StorageAway(
      "The migration cannot lock the tables that it changes. Wait for the oldest transaction in pg_stat_activity, " +
        "or end it, then try again.",
      { cause: error },
    );
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
  const { rows } = await client.query<{ relname: string }>(
    `SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
     WHERE nspname = current_schema() AND relkind = 'r'`,
  );
  const isMade = rows.some(({ relname }) => relname === "schema_migrations");
  const versions = isMade && (await client.query("SELECT max(version) AS version FROM schema_migrations"));
  return schemaAt(all, versions ? versions.rows[0].version : 0, rows.length > 0);
}
