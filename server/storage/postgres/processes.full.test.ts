// Several processes on one database, and a migration beside them.
import { Client } from "pg";
import { expect, test } from "vitest";
import { createSystemClock } from "../../domain/clock.ts";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { testDatabase, useDatabase } from "../../testing/resources.ts";
import {
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
} from "../../testing/storage/fixtures.ts";
import { storageSuite } from "../../testing/storage/suite.ts";
import { whenAvailable } from "../open.ts";
import { POSTGRES_MIGRATIONS } from "../schema.ts";
import { withConnection } from "./connections.ts";
import { openPostgres } from "./index.ts";
import { migrate } from "./migrate.ts";

const database = useDatabase();
const options = { server: true, time: "process" } as const;
const closeAll = async (storages: readonly Storage[]) => {
  await Promise.all(storages.map((storage) => storage.close()));
};

/** Each operation runs in the other process. */
storageSuite(
  "PostgreSQL with two processes",
  async (how) => {
    await database.empty();
    const processes = await concurrently(2, () => openPostgres(database.url, { ...how, ...options }));
    let turn = 0;
    const storage = new Proxy({} as Storage, {
      get: (_, name) => Reflect.get(processes[(turn += 1) % 2]!, name) as unknown,
    });
    return { storage, close: () => closeAll(processes) };
  },
  // Creates of two processes share no commit, and each process keeps its figures for a minute.
  ["reports", "figures"],
);

test("processes that start first at once create the schema once, and store what several insert once, without deadlock", async () => {
  await database.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  const clock = createFakeClock();
  const processes = await concurrently(4, () => openPostgres(database.url, { clock, ...options }));
  const merchants = [await addMerchant(processes[0]!), await addMerchant(processes[1]!)];
  for (const storage of processes) expect(await storage.listMerchants()).toEqual(merchants);
  const results = await concurrently(400, (index) => {
    // Each two processes insert the same references in opposite orders.
    const reference = (index % 2 === 0 ? index : 399 - index) >> 1;
    const { id } = merchants[reference % 2]!;
    const customer = { phoneNumber: `22570381024${String(reference % 50).padStart(2, "0")}` };
    const make = index % 3 === 0 ? aFinalDisbursement : aDisbursement;
    return processes[index % 4]!.insertDisbursement(make(id, { merchantsReference: `same-${reference}`, customer }));
  });
  const byReference = Map.groupBy(results, ({ record }) => record.merchantsReference);
  expect(byReference.size).toBe(200);
  for (const [first, second, ...others] of byReference.values()) {
    expect([first!.inserted, second!.inserted].toSorted()).toEqual([false, true]);
    expect([second!.record, others]).toEqual([first!.record, []]);
  }
  await closeAll(processes);
});

const NEXT = {
  name: "002-next.sql",
  sql: `ALTER TABLE merchants ADD COLUMN next text;
    CREATE INDEX disbursements_by_customer ON disbursements (merchant_id, customer_id);`,
};
const DONE = { from: 1, to: 2 };
const migrateNext = (url: string) =>
  withConnection(url, (client) => migrate(client, {}, [...POSTGRES_MIGRATIONS, NEXT]));
/** Migrates as a server does that starts. */
const migrateAtLast = (url: string) =>
  whenAvailable(() => migrateNext(url), { sleep: createSystemClock().sleep, onPause: () => undefined });

test("migrates once, beside a server that writes, with a stricter isolation as the default", async () => {
  const shared = await testDatabase();
  const { pathname } = new URL(shared.url);
  await shared.run(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_isolation TO 'serializable'`);
  const storage = await openPostgres(shared.url, { clock: createFakeClock(), server: true });
  const { id } = await addMerchant(storage);
  const committed: string[] = [];
  let isMigrated = false;
  const writing = concurrently(4, async () => {
    while (!isMigrated) {
      committed.push((await storage.insertDisbursement(aFinalDisbursement(id))).record.reference);
      const { reference } = (await storage.insertCheckout(aCheckout(id))).record;
      await storage.finishCheckout(reference, "success");
      committed.push(reference);
    }
  });
  const migrated = await concurrently(3, () => migrateAtLast(shared.url));
  isMigrated = true;
  await writing;
  await storage.close();
  expect(migrated).toContainEqual(DONE);
  expect(migrated.filter(({ from }) => from === 2)).toHaveLength(2);
  expect(committed.length).toBeGreaterThan(0);
  const stored = await shared.run("SELECT reference FROM events");
  expect(stored.map(({ reference }) => reference).toSorted()).toEqual(committed.toSorted());
  expect(await shared.run("SELECT next FROM merchants")).toEqual([{ next: null }]);
  expect(await shared.run("SELECT version FROM schema_migrations ORDER BY 1")).toHaveLength(2);
});

test("a migration that cannot lock a table leaves the schema as it was, and waits for the lock", async () => {
  const shared = await testDatabase();
  await withConnection(shared.url, (client) => migrate(client));
  const dump = new Client(shared.url);
  await dump.connect();
  await dump.query("BEGIN; LOCK TABLE merchants IN ACCESS SHARE MODE");
  await expect(migrateNext(shared.url)).rejects.toThrow(/^The migration cannot lock the tables that it changes\. /);
  expect(await shared.run("SELECT version FROM schema_migrations")).toHaveLength(1);
  await expect(shared.run("SELECT next FROM merchants")).rejects.toThrow(/does not exist/);
  const waiting = migrateAtLast(shared.url);
  await dump.query("ROLLBACK");
  await dump.end();
  expect(await waiting).toEqual(DONE);
});
