import type { ClientBase, Pool } from "pg";
import { missingMigrations, readMigrations, schemaAt, type Migrated, type Schema } from "../migrations.ts";
import { withConnection } from "./connections.ts";
import { BEGIN } from "./sessions.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));
/** Identifies the advisory lock of this service's migrations; any number that no other program uses. */
const LOCK = 7_305_808_868;

/** Applies the missing migrations when a process opens the database. */
export async function migrate(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await migrateWith(client);
    client.release();
  } catch (error) {
    // Ending the connection rolls back.
    client.release(true);
    throw error;
  }
}

/** Applies the missing migrations for an operator. @throws StorageError */
export const migratePostgres = (url: string): Promise<Migrated> => withConnection(url, migrateWith);

/** Applies the missing migrations in one transaction. A concurrent process waits, then finds the schema up to date. */
async function migrateWith(client: ClientBase): Promise<Migrated> {
  await client.query(BEGIN);
  const migrated = await migrateWithin(client);
  await client.query("COMMIT");
  return migrated;
}

/** Applies the missing migrations within a transaction. Other processes that migrate wait until it ends. */
export async function migrateWithin(client: ClientBase): Promise<Migrated> {
  await client.query("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
  await client.query({ text: "SELECT pg_advisory_xact_lock($1)", values: [LOCK], query_timeout: 600_000 } as never);
  const known = await versionOf(client);
  if (known === undefined) await client.query("CREATE TABLE schema_migrations (version bigint PRIMARY KEY)");
  const from = known ?? 0;
  for (const { sql, version } of missingMigrations(migrations, from)) {
    await client.query({ text: sql, query_timeout: 600_000 } as never);
    await client.query("INSERT INTO schema_migrations (version) VALUES ($1)", [version]);
  }
  return { from, to: migrations.length };
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
  const found = await client.query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM schema_migrations",
  );
  return found.rows[0]!.version;
}
