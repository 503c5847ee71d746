import type { Pool, PoolClient } from "pg";
import { missingMigrations, readMigrations } from "../migrations.ts";

const migrations = readMigrations(new URL("migrations/", import.meta.url));
/** Identifies the advisory lock of this service's migrations; any number that no other program uses. */
const LOCK = 7_305_808_868;

/** Applies the missing migrations in one transaction. A concurrent process waits, then finds the schema up to date. */
export async function migrate(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
    await client.query({ text: "SELECT pg_advisory_xact_lock($1)", values: [LOCK], query_timeout: 600_000 } as never);
    const current = await versionOf(client);
    for (const { sql, version } of missingMigrations(migrations, current)) {
      await client.query({ text: sql, query_timeout: 600_000 } as never);
      await client.query("INSERT INTO schema_migrations (version) VALUES ($1)", [version]);
    }
    await client.query("COMMIT");
    client.release();
  } catch (error) {
    // Ending the connection rolls back.
    client.release(true);
    throw error;
  }
}

async function versionOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
  );
  const names = rows.map(({ name }) => name);
  if (!names.includes("schema_migrations")) {
    if (names.length > 0) throw new Error("it contains the tables of another program");
    await client.query("CREATE TABLE schema_migrations (version bigint PRIMARY KEY)");
    return 0;
  }
  const found = await client.query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM schema_migrations",
  );
  return found.rows[0]!.version;
}
