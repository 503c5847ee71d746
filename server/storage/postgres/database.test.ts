import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../../testing/postgres.ts";
import { addMerchant, aDisbursement, storedAt } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { createPool, withConnection } from "./connections.ts";
import { createDatabase, type Database } from "./database.ts";
import { ConnectionLost } from "./errors.ts";
import { openPostgres } from "./index.ts";
import { processTime } from "./time.ts";

let database: TestDatabase;
let storage: Storage;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.empty();
  const clock = createFakeClock();
  storage = await openPostgres(database.url, { clock, server: true, time: "process" });
  db = createDatabase(createPool(database.url), processTime(clock));
});
afterEach(async () => {
  await storage.close();
  await db.close();
});

const INSERT = "INSERT INTO refusals (merchant_id, epoch, merchants_reference, count) VALUES ($1, 0, $2, 1)";
const raise = (code: string) => `DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$`;
const refusals = () => database.run("SELECT merchant_id FROM refusals ORDER BY merchant_id");

// 25P03 and 25P04: the server has ended the session of a process that was too slow within its transaction.
test.each(["40001", "40P01", "25P03", "25P04"])(
  "a transaction that ends with %s is rolled back and runs again",
  async (code) => {
    let runs = 0;
    await db.transaction(async (query) => {
      runs += 1;
      await query(INSERT, [`run ${runs}`, "x"]);
      if (runs < 3) await query(raise(code));
    });
    expect(await refusals()).toEqual([{ merchant_id: "run 3" }]);
  },
);

test("any other failure rolls the transaction back, and the connection remains usable", async () => {
  let runs = 0;
  const failing = db.transaction(async (query) => {
    runs += 1;
    await query(INSERT, ["kept", "x"]);
    throw new Error("refused by a rule");
  });
  await expect(failing).rejects.toThrow("refused by a rule");
  await expect(db.transaction((query) => query(raise("P0001")))).rejects.toThrow(Error);
  expect(runs).toBe(1);
  expect(await refusals()).toEqual([]);
  await db.transaction((query) => query(INSERT, ["later", "x"]));
  expect(await refusals()).toEqual([{ merchant_id: "later" }]);
});

test("a transaction whose statements together take too long ends and records nothing", async () => {
  const slow = db.transaction(async (query) => {
    for (let step = 1; step <= 10; step += 1) {
      await query(INSERT, [`step ${step}`, "x"]);
      await query("SELECT pg_sleep(1)");
    }
  });
  await expect(slow).rejects.toBeInstanceOf(ConnectionLost);
  expect(await refusals()).toEqual([]);
});

test("operations beyond the limit are refused at once", async () => {
  const few = createDatabase(createPool(database.url), processTime(createFakeClock()), { mostOperations: 20 });
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => few.read("SELECT pg_sleep(0.01)")));
  expect(results.map(({ status }) => status).filter((status) => status === "fulfilled")).toHaveLength(20);
  for (const result of results.slice(20)) expect(result).toMatchObject({ reason: { code: "unavailable" } });
  expect((await few.read("SELECT 1")).count).toBe(1);
  await few.close();
});

test("a transaction whose failed statement went unnoticed is not taken for committed", async () => {
  const failing = db.transaction(async (query) => {
    await query(raise("P0001")).catch(() => undefined);
  });
  await expect(failing).rejects.toThrow("rolled back");
});

test("a create whose connection the server ends is repeated", async () => {
  const { id } = await addMerchant(storage);
  await database.run(`BEGIN; SELECT * FROM merchants WHERE id = '${id}' FOR UPDATE`);
  const creating = storage.insertDisbursement(aDisbursement(id));
  const waiting = `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(() => database.run(waiting), { interval: 5 }).toEqual([{ ended: true }]);
  await database.run("ROLLBACK");
  expect(await creating).toMatchObject({ inserted: true });
});

test("a migration by another process does not break statements that this one has prepared", async () => {
  const { id } = await addMerchant(storage);
  expect(await storage.findMerchant(id)).toMatchObject({ id });
  await database.run("ALTER TABLE merchants ADD COLUMN later text");
  expect(await storage.findMerchant(id)).toMatchObject({ id });
  expect(await storage.insertDisbursement(aDisbursement(id))).toMatchObject({ inserted: true });
  await database.run("ALTER TABLE merchants DROP COLUMN later");
  expect(await storage.insertDisbursement(aDisbursement(id))).toMatchObject({ inserted: true });
});

test("a default of the database for NULL in arrays does not change what payouts mean", async () => {
  const { id } = await addMerchant(storage);
  const name = new URL(database.url).pathname.slice(1);
  await database.run(`ALTER DATABASE ${name} SET array_nulls = off`);
  const other = await openPostgres(database.url, { clock: createFakeClock(), server: false, time: "process" });
  const draft = aDisbursement(id);
  await other.insertDisbursement(draft);
  await other.close();
  await database.run(`ALTER DATABASE ${name} RESET ALL`);
  expect(await storage.findDisbursement(id, draft.reference)).toEqual(storedAt(draft));
});

test.each(["default_transaction_read_only = on", "search_path = pg_catalog"])(
  "a server does not start with the default of the database %s",
  async (setting) => {
    const name = new URL(database.url).pathname.slice(1);
    await database.run(`ALTER DATABASE ${name} SET ${setting}`);
    const opening = openPostgres(database.url, { clock: createFakeClock(), server: true, time: "process" });
    await expect(opening).rejects.toThrow(StorageError);
    await database.run(`ALTER DATABASE ${name} RESET ALL`);
  },
);

test("text that PostgreSQL cannot store is stored and found exactly", async () => {
  const { id } = await addMerchant(storage, { name: "NUL \0 half \ud83e" });
  expect((await storage.findMerchant(id))?.name).toBe("NUL \0 half \ud83e");
  for (const merchantsReference of ["a\0", "a\ud800", "a\ufffd", "a\ufdd00000", "a"]) {
    expect(await storage.insertDisbursement(aDisbursement(id, { merchantsReference }))).toMatchObject({
      inserted: true,
    });
    const found = await storage.findDisbursementByMerchantsReference(id, merchantsReference);
    expect(found?.merchantsReference).toBe(merchantsReference);
  }
});

test("the time limits of a database do not apply to operators' commands", async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.run(`ALTER DATABASE ${name} SET statement_timeout = 500`);
  const slept = await withConnection(database.url, (client) => client.query("SELECT pg_sleep(0.6)"));
  await database.run(`ALTER DATABASE ${name} RESET ALL`);
  expect(slept.rowCount).toBe(1);
});
