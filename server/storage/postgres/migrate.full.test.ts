// A migration beside processes of the version before, which write.
import { Client, DatabaseError } from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { concurrently } from "../../testing/storage/fixtures.ts";
import { readMigrations } from "../migrations.ts";
import { withConnection } from "./connections.ts";
import { migrate } from "./migrate.ts";

/** The migrations of today, and a next one. */
const MIGRATIONS = [
  ...readMigrations(new URL("migrations/", import.meta.url)),
  {
    version: 2,
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

/** The statements of a payout that is final at once, in the order in which a server executes them. */
const create = (id: string) => `BEGIN ISOLATION LEVEL READ COMMITTED;
  SELECT 1 FROM merchants WHERE id = 'm' FOR NO KEY UPDATE;
  INSERT INTO disbursements (merchant_id, merchants_reference, reference, id, customer_id, phone_number, amount,
    fee, currency, details, status, created_at, updated_at)
    VALUES ('m', '${id}', '${id}', gen_random_uuid(), '${id}', '${id}', 1, 0, 'XOF', '{}', 'success', 0, 0);
  UPDATE merchants SET last_event = last_event + 1 WHERE id = 'm';
  INSERT INTO events (merchant_id, id, seq, type, reference, created_at, body)
    SELECT 'm', '${id}', last_event, 'disbursement.completed', '${id}', 0, '' FROM merchants WHERE id = 'm';
  COMMIT`;
/** A delivery and a payment page look at other tables before they lock the merchant. */
const look = (id: string) => `BEGIN ISOLATION LEVEL READ COMMITTED;
  SELECT count(*) FROM events WHERE id = '${id}'; SELECT count(*) FROM checkouts WHERE reference = '${id}';
  SELECT count(*) FROM disbursements WHERE reference = '${id}'; SELECT 1 FROM merchants WHERE id = 'm' FOR KEY SHARE;
  INSERT INTO attempts (merchant_id, event_id, number, at, sent_real, latency_ms) VALUES ('m', '${id}', 1, 0, 0, 1);
  COMMIT`;

/**
 * Writes until `end` is called, which resolves with the ids of the committed payouts. Repeats transactions that lost a
 * conflict, as a server does.
 */
function startLoad(url: string): { end(): Promise<string[]> } {
  let isEnded = false;
  async function write(index: number) {
    const client = new Client(url);
    // After a test that failed, its database is dropped under the writers.
    client.on("error", () => undefined);
    await client.connect();
    const committed: string[] = [];
    for (let round = 0; !isEnded; round += 1) {
      for (const statements of [create, look]) {
        const id = `${index}-${round}`;
        while (!(await commits(client, statements(id))));
        if (statements === create) committed.push(id);
      }
    }
    await client.end();
    return committed;
  }
  const writing = concurrently(4, write);
  writing.catch(() => undefined);
  return {
    async end() {
      isEnded = true;
      return (await writing).flat();
    },
  };
}

async function commits(client: Client, statements: string): Promise<boolean> {
  try {
    await client.query(statements);
    return true;
  } catch (error) {
    await client.query("ROLLBACK");
    if (error instanceof DatabaseError && /^(40001|40P01)$/.test(error.code!)) return false;
    throw error;
  }
}

test("migrates beside processes that write, with a stricter isolation as the default", async () => {
  const old = await createDatabase();
  const [{ name }] = (await old.run("SELECT current_database() AS name")) as [{ name: string }];
  await old.run(`ALTER DATABASE ${name} SET default_transaction_isolation TO 'serializable'`);
  const load = startLoad(old.url);
  await concurrently(3, () => migrateTo(2, old.url));
  const committed = await load.end();
  expect(committed.length).toBeGreaterThan(0);
  const stored = await old.run("SELECT merchants_reference AS id FROM disbursements");
  expect(stored.map(({ id }) => id).toSorted()).toEqual(committed.toSorted());
  expect(await schemaOf(old)).toEqual(latest);
});

test("a migration that cannot lock a table names the program that is in the way, and leaves the schema as it was", async () => {
  const database = await createDatabase();
  const dump = new Client({ connectionString: database.url, application_name: "pg_dump" });
  await dump.connect();
  await dump.query("BEGIN; LOCK TABLE merchants IN ACCESS SHARE MODE");
  const before = await schemaOf(database);
  const migrating = migrateTo(2, database.url, 0);
  await expect(migrating).rejects.toThrow(
    /^The migration cannot lock the tables that it changes\. The oldest transaction is that of pg_dump \(pid \d+\), for \d+ s\. When it has ended, try again\.$/,
  );
  expect(await schemaOf(database)).toEqual(before);
  const waiting = migrateTo(2, database.url);
  await dump.query("ROLLBACK");
  await dump.end();
  expect(await waiting).toEqual(NEXT);
});
