// A migration beside processes of the version before, which write.
import { Client } from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { aCheckout, aFinalDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { POSTGRES_MIGRATIONS } from "../schema.ts";
import { withConnection } from "./connections.ts";
import { openPostgres } from "./index.ts";
import { migrate } from "./migrate.ts";

/** The migrations of today, and a next one. */
const MIGRATIONS = [
  ...POSTGRES_MIGRATIONS,
  {
    name: "002-next.sql",
    sql: `ALTER TABLE merchants ADD COLUMN next text;
      CREATE INDEX disbursements_by_customer ON disbursements (merchant_id, customer_id);`,
  },
];
const NEXT = { from: 1, to: 2 };
const migrateTo = (version: number, url: string, patienceMs?: number) =>
  withConnection(url, (client) => migrate(client, patienceMs, MIGRATIONS.slice(0, version)));

/** A database of the version before the next, with a merchant, until the test ends. */
async function createDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  onTestFinished(() => database.drop());
  await migrateTo(1, database.url);
  await database.run(
    "INSERT INTO merchants (id, name, created_at, webhook_secret, customer_secret) VALUES ('m', 'Ada', 0, 'a', 'b')",
  );
  return database;
}

const COLUMNS = `table_name, column_name, data_type, is_nullable, column_default, collation_name`;
const schemaOf = async (database: TestDatabase) => [
  await database.run(
    `SELECT ${COLUMNS} FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`,
  ),
  await database.run("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"),
  await database.run("SELECT version FROM schema_migrations ORDER BY 1"),
];

/** The schema of a new database. */
let latest: Awaited<ReturnType<typeof schemaOf>>;
beforeAll(async () => {
  const database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  await migrateTo(2, database.url, 0);
  latest = await schemaOf(database);
  await database.drop();
});

test("migrates beside a server that writes, with a stricter isolation as the default", async () => {
  const old = await createDatabase();
  const { pathname } = new URL(old.url);
  await old.run(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_isolation TO 'serializable'`);
  const storage = await openPostgres(old.url, { clock: createFakeClock(), server: true });
  const committed: string[] = [];
  let isMigrated = false;
  const writing = concurrently(4, async () => {
    while (!isMigrated) {
      committed.push((await storage.insertDisbursement(aFinalDisbursement("m"))).record.reference);
      const { reference } = (await storage.insertCheckout(aCheckout("m"))).record;
      await storage.finishCheckout(reference, "success");
      committed.push(reference);
    }
  });
  await concurrently(3, () => migrateTo(2, old.url));
  isMigrated = true;
  await writing;
  await storage.close();
  expect(committed.length).toBeGreaterThan(0);
  const stored = await old.run("SELECT reference FROM events");
  expect(stored.map(({ reference }) => reference).toSorted()).toEqual(committed.toSorted());
  expect(await schemaOf(old)).toEqual(latest);
});

test("a migration that cannot lock a table leaves the schema as it was, and waits for the lock", async () => {
  const database = await createDatabase();
  const dump = new Client(database.url);
  await dump.connect();
  await dump.query("BEGIN; LOCK TABLE merchants IN ACCESS SHARE MODE");
  const before = await schemaOf(database);
  const migrating = migrateTo(2, database.url, 0);
  await expect(migrating).rejects.toThrow(/^The migration cannot lock the tables that it changes\. /);
  expect(await schemaOf(database)).toEqual(before);
  const waiting = migrateTo(2, database.url);
  await dump.query("ROLLBACK");
  await dump.end();
  expect(await waiting).toEqual(NEXT);
});
