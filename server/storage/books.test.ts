// Tests the proof of the books.
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { createFakeClock, type FakeClock } from "../testing/clock.ts";
import { useDatabase, useFolder } from "../testing/places.ts";
import {
  ACTOR,
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  HOUR,
  LATEST,
} from "../testing/storage/fixtures.ts";
import { databaseAt, type DatabaseAddress } from "./open.ts";
import { openPostgres } from "./postgres/index.ts";
import { openSqlite } from "./sqlite/index.ts";

const pathOf = useFolder();
const database = useDatabase();
beforeEach(() => database.empty());

interface Place {
  address(): DatabaseAddress;
  open(clock: FakeClock): Promise<Storage>;
  run(sql: string): Promise<unknown>;
}
const SQLITE: Place = {
  address: () => ({ kind: "sqlite", path: pathOf("server.db") }),
  open: async (clock) => openSqlite(pathOf("server.db"), { clock, server: true }),
  async run(sql) {
    using db = new DatabaseSync(pathOf("server.db"));
    db.exec(sql);
  },
};
const POSTGRES: Place = {
  address: () => ({ kind: "postgres", url: database.url }),
  open: (clock) => openPostgres(database.url, { clock, server: true, time: "process" }),
  run: (sql) => database.run(sql),
};

/** Records of a merchant in every status and in two currencies; a reset has deleted the records of one currency. */
async function fill(storage: Storage, clock: FakeClock): Promise<void> {
  const merchant = await addMerchant(storage);
  const topUp = { id: "top-up", currency: "XOF", amount: 1_000_000, reason: "Paid in" };
  for (const end of ["reset", "keep"]) {
    await storage.adjustBalance(merchant.id, { ...topUp, id: end }, ACTOR);
    for (const currency of ["XOF", "NGN"]) {
      await concurrently(3, () => storage.insertDisbursement(aDisbursement(merchant.id, { currency, fee: 3 })));
      const failed = { afterMs: 2_000, status: "failed" } as const;
      await storage.insertDisbursement(aDisbursement(merchant.id, { currency, due: failed }));
      await storage.insertDisbursement(aFinalDisbursement(merchant.id, { currency, status: "failed" }));
      const draft = aCheckout(merchant.id, { currency });
      await storage.insertCheckout(draft);
      await storage.finishCheckout(draft.reference, "success");
      await storage.insertCheckout(aCheckout(merchant.id, { currency }));
    }
    await storage.moveClock(merchant.id, { by: HOUR }, LATEST);
    while ((await storage.settleDue(100)) > 0);
    await storage.insertDisbursement(aDisbursement(merchant.id, { amount: 500, fee: 5 }));
    if (end === "reset") await storage.reset(merchant.id);
  }
  clock.advance(1);
}

describe.each(Object.entries({ SQLite: SQLITE, PostgreSQL: POSTGRES }))("%s", (_, place) => {
  let clock: FakeClock;
  let storage: Storage;
  beforeEach(async () => {
    clock = createFakeClock();
    storage = await place.open(clock);
  });
  afterEach(() => storage.close());
  /** Does something while no server uses the database. */
  async function offline<T>(act: () => Promise<T>): Promise<T> {
    await storage.close();
    return act().finally(async () => void (storage = await place.open(clock)));
  }
  const change = (sql: string) => offline(() => place.run(sql));
  const findings = async () => (await offline(() => databaseAt(place.address()).check())).findings;

  test("finds nothing wrong with the books of payments in every status, also after a reset", async () => {
    await fill(storage, clock);
    expect(await findings()).toEqual([]);
  });

  test.each([
    ["UPDATE disbursements SET status = 'success' WHERE status = 'failed'", "agree with the payouts and checkouts"],
    ["UPDATE disbursements SET amount = amount + 1 WHERE status = 'pending'", "agree with the payouts and checkouts"],
    ["UPDATE checkouts SET status = 'success'", "agree with the payouts and checkouts"],
    ["DELETE FROM accounts", "is not the sum of its entries"],
  ])("finds %s", async (sql, finding) => {
    await fill(storage, clock);
    await change(sql);
    const found = await findings();
    expect(found.length).toBeGreaterThan(0);
    for (const each of found) expect(each).toContain(finding);
  });

  test("no entry can have a sum other than zero, and none can be written twice", async () => {
    await fill(storage, clock);
    await expect(change("UPDATE entries SET available = available + 1")).rejects.toThrow(/check/i);
    await expect(change("INSERT INTO entries SELECT * FROM entries")).rejects.toThrow(/unique/i);
  });
});
