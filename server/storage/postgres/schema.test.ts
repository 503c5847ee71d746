// The schema must fit a distributed database, which keeps the rows of a merchant together and lacks some features of
// PostgreSQL (D59).
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { storageSuite } from "../../testing/storage/suite.ts";
import { createPool } from "./connections.ts";
import { createDatabase } from "./database.ts";
import { openPostgres } from "./index.ts";
import { processTime } from "./time.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());

const open = (clock = createFakeClock(), url = database.url) =>
  openPostgres(url, { clock, server: true, time: "process" });

/** Tables about the service as a whole, which have few rows. */
const OF_THE_SERVICE = ["mode", "rail_pauses", "schema_migrations", "service"];
/**
 * Indexes without the merchant, because these look-ups find the merchant: the look-up of a request's key, of a key's id
 * in a command, and of the payment in a rail's notification.
 */
const WITHOUT_MERCHANT = ["api_keys_by_hash", "api_keys_by_id", "handovers_by_id"];

const KEYS = `SELECT t.relname AS table, i.relname AS index, x.indisprimary AS is_primary, a.attname AS first
  FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
  WHERE t.relnamespace = current_schema()::regnamespace AND x.indisunique ORDER BY 1, 2`;

test("the keys of every table start with the merchant", async () => {
  await (await open()).close();
  const keys = await database.run(KEYS);
  const tables = await database.run("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1");
  const primary = keys.filter((key) => key.is_primary).map((key) => key.table);
  expect(primary).toEqual(tables.map(({ tablename }) => tablename));
  expect(primary).toEqual(expect.arrayContaining(["disbursements", "events", "merchants", ...OF_THE_SERVICE]));
  const others = keys.filter(({ table, first }) => first !== (table === "merchants" ? "id" : "merchant_id"));
  expect(others.filter((key) => key.is_primary).map((key) => key.table)).toEqual(OF_THE_SERVICE);
  expect(others.filter((key) => !key.is_primary).map((key) => key.index)).toEqual(WITHOUT_MERCHANT);
});

const IN_SCHEMA = "current_schema()::regnamespace";
const ABSENT = {
  "sequences or views": `SELECT relname AS name FROM pg_class WHERE relnamespace = ${IN_SCHEMA} AND relkind NOT IN ('r', 'i')`,
  triggers: "SELECT tgname AS name FROM pg_trigger",
  "foreign keys": "SELECT conname AS name FROM pg_constraint WHERE contype = 'f'",
  extensions: "SELECT extname AS name FROM pg_extension WHERE extname <> 'plpgsql'",
  functions: `SELECT proname AS name FROM pg_proc WHERE pronamespace = ${IN_SCHEMA}`,
  "types of its own": `SELECT typname AS name FROM pg_type WHERE typnamespace = ${IN_SCHEMA} AND typtype NOT IN ('c', 'b')`,
};

test.each(Object.entries(ABSENT))("the schema has no %s", async (_, sql) => {
  await (await open()).close();
  expect(await database.run(sql)).toEqual([]);
});

test("transactions are READ COMMITTED whatever the database's default is", async () => {
  const [{ name }] = (await database.run("SELECT current_database() AS name")) as [{ name: string }];
  await database.run(`ALTER DATABASE ${name} SET default_transaction_isolation TO 'serializable'`);
  const pool = createPool(database.url);
  const db = createDatabase(pool, processTime(createFakeClock()));
  const { rows } = await db.transaction((query) => query("SHOW transaction_isolation"));
  const outside = await pool.query("SHOW transaction_isolation");
  await db.close();
  await database.run(`ALTER DATABASE ${name} RESET default_transaction_isolation`);
  expect(rows).toEqual([{ transaction_isolation: "read committed" }]);
  expect(outside.rows).toEqual([{ transaction_isolation: "serializable" }]);
});

const WITHOUT_SKIP_LOCKED = "skip_locked=off";

test("with skip_locked=off in the URL no statement contains SKIP LOCKED", async () => {
  const sent: string[] = [];
  const { query } = Client.prototype;
  Client.prototype.query = function record(this: Client, statement: { text: string }, ...rest: never[]) {
    sent.push(statement.text);
    return (query as (...args: unknown[]) => never).call(this, statement, ...rest);
  } as never;
  const claim = async (url: string) => {
    const storage = await open(createFakeClock(), url);
    await storage.claimDeliveries([{ merchantId: "m", host: "h", count: 1 }], 1_000);
    await storage.close();
    return sent.splice(0).filter((text) => text?.includes("SKIP LOCKED")).length;
  };
  expect(await claim(database.url)).toBe(1);
  expect(await claim(`${database.url}?${WITHOUT_SKIP_LOCKED}`)).toBe(0);
  Client.prototype.query = query;
});

storageSuite(
  "PostgreSQL without SKIP LOCKED",
  async ({ clock }) => {
    await database.empty();
    const storage = await open(clock, `${database.url}?${WITHOUT_SKIP_LOCKED}`);
    return { storage, close: () => storage.close() };
  },
  ["payments", "deliveries", "reset"],
);
