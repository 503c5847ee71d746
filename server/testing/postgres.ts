import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { shared } from "../../scripts/testing/ask-shared.ts";

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/** Creates an empty database. @param given a server; if absent, that of TEST_DATABASE_URL, or the one that all tests share */
export async function createTestDatabase(given = process.env.TEST_DATABASE_URL) {
  const server = given ?? (await shared("postgres"));
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await runOnce(server, `CREATE DATABASE ${name}`);
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  const client = new Client(url);
  await client.connect();
  /** Runs statements. */
  const run = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  let tables: unknown[] = [];
  return {
    url,
    run,
    /** Deletes all rows, so that the next storage is empty. */
    async empty() {
      if (tables.length === 0) {
        const rows = await run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
        tables = rows.map(({ tablename }) => tablename).filter((table) => table !== "schema_migrations");
      }
      if (tables.length === 0) return;
      // Deleting a few rows is much faster than TRUNCATE, which replaces the files of each table and index.
      const deletions = tables.map((table) => `DELETE FROM ${String(table)}`);
      await run([...deletions, "INSERT INTO service (id) VALUES (1)"].join(";"));
    },
    async drop() {
      await client.end();
      await runOnce(server, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function runOnce(server: string, sql: string): Promise<void> {
  const client = new Client(server);
  await client.connect();
  await client.query(sql);
  await client.end();
}
