import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { durableStorageSuite, storageSuite } from "../../testing/storage/suite.ts";
import { addDelivery, addMerchant, START } from "../../testing/storage/fixtures.ts";
import { openSqlite } from "./index.ts";

const folder = () => mkdtempSync(join(tmpdir(), "sqlite-"));
const remove = (path: string) => rmSync(path, { recursive: true });

storageSuite("SQLite in memory", async () => {
  const storage = openSqlite(":memory:", { server: true });
  return { storage, close: () => storage.close() };
});

storageSuite("SQLite in a file", async () => {
  const place = folder();
  const storage = openSqlite(join(place, "server.db"), { server: true });
  return {
    storage,
    async close() {
      await storage.close();
      remove(place);
    },
  };
});

durableStorageSuite("SQLite", {
  make: async () => folder(),
  open: async (place) => openSqlite(join(place, "server.db"), { server: true }),
  remove: async (place) => remove(place),
});

test("a claim that its server did not live to use is free at the next start", async () => {
  const place = folder();
  const path = join(place, "server.db");
  const claim = { now: START, leaseUntil: START + 60_000, limit: 10, room: () => 10, roomOf: () => 10 };

  const before = openSqlite(path, { server: true });
  const merchant = await addMerchant(before);
  const { id } = await addDelivery(before, merchant.id);
  expect(await before.claimDeliveries(claim)).toHaveLength(1);

  // The keys command does not start a server: what a server claimed stays its own.
  const beside = openSqlite(path, { server: false });
  expect(await beside.claimDeliveries(claim)).toEqual([]);
  await beside.close();

  await before.close();
  const after = openSqlite(path, { server: true });
  expect(await after.claimDeliveries(claim)).toMatchObject([{ event: { id } }]);
  await after.close();
  remove(place);
});
