// Tests the proof of the books.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import { useDatabase, useFolder } from "../testing/resources.ts";
import { fill } from "../testing/storage/everything.ts";
import { ACTOR } from "../testing/storage/fixtures.ts";
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

describe.each(Object.entries(PLACES))("%s", (_, { address, run }) => {
  beforeEach(async () => {
    await database.empty();
    const storage = await openStorage(address(), { clock: createSystemClock(), server: true });
    // A reset has deleted the records of one merchant.
    await storage.reset((await fill(storage)).kofi.id, ACTOR);
    await fill(storage);
    await storage.close();
  });
  const findings = async () => (await databaseAt(address()).check()).findings;

  test("finds nothing wrong with the books of payments in every status, also after a reset", async () => {
    expect(await findings()).toEqual([]);
  });

  test.each([
    ["UPDATE disbursements SET status = 'success' WHERE status = 'failed'", "agree with the payouts and checkouts"],
    ["UPDATE disbursements SET fee = fee + 1 WHERE status = 'pending'", "agree with the payouts and checkouts"],
    ["UPDATE checkouts SET status = 'success', due_at = NULL", "agree with the payouts and checkouts"],
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
