// Tests the proof of the books.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { useDatabase, useFolder } from "../testing/resources.ts";
import {
  ACTOR,
  addMerchant,
  aCheckout,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
} from "../testing/storage/fixtures.ts";
import { HOUR } from "../testing/times.ts";
import { databaseAt, openStorage, type DatabaseAddress } from "./open.ts";

const pathOf = useFolder();
const database = useDatabase();

interface Place {
  address(): DatabaseAddress;
  run(sql: string): Promise<unknown>;
}
const PLACES: Record<string, Place> = {
  SQLite: {
    address: () => ({ kind: "sqlite", path: pathOf("server.db") }),
    async run(sql) {
      using db = new DatabaseSync(pathOf("server.db"));
      db.exec(sql);
    },
  },
  PostgreSQL: { address: () => ({ kind: "postgres", url: database.url }), run: (sql) => database.run(sql) },
};

/** Records of a merchant in every status and in two currencies; a reset has deleted the records of one currency. */
async function fill(storage: Storage): Promise<void> {
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
    await storage.moveClock(merchant.id, { by: HOUR }, ACTOR);
    while ((await storage.settleDue(100)) > 0);
    await storage.insertDisbursement(aDisbursement(merchant.id, { amount: 500, fee: 5 }));
    if (end === "reset") await storage.reset(merchant.id, ACTOR);
  }
}

describe.each(Object.entries(PLACES))("%s", (_, { address, run }) => {
  beforeEach(async () => {
    await database.empty();
    const storage = await openStorage(address(), { clock: createSystemClock(), server: true });
    await fill(storage);
    await storage.close();
  });
  const findings = async () => (await databaseAt(address()).check()).findings;

  test("finds nothing wrong with the books of payments in every status, also after a reset", async () => {
    expect(await findings()).toEqual([]);
  });

  test.each([
    ["UPDATE disbursements SET status = 'success' WHERE status = 'failed'", "agree with the payouts and checkouts"],
    ["UPDATE disbursements SET amount = amount + 1 WHERE status = 'pending'", "agree with the payouts and checkouts"],
    ["UPDATE checkouts SET status = 'success'", "agree with the payouts and checkouts"],
    ["DELETE FROM accounts", "is not the sum of its entries"],
  ])("finds %s", async (sql, finding) => {
    await run(sql);
    const found = await findings();
    expect(found.length).toBeGreaterThan(0);
    for (const each of found) expect(each).toContain(finding);
  });

  test("no entry can have a sum other than zero, and none can be written twice", async () => {
    await expect(run("UPDATE entries SET available = available + 1")).rejects.toThrow(/check/i);
    await expect(run("INSERT INTO entries SELECT * FROM entries")).rejects.toThrow(/unique/i);
  });
});
