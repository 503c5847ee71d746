// Several processes on one database.
import { expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useDatabase } from "../../testing/places.ts";
import { addMerchant, aDisbursement, aFinalDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { storageSuite } from "../../testing/storage/suite.ts";
import { openPostgres } from "./index.ts";

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
