import { expect, test, vi } from "vitest";
import type { RetentionQuery } from "../domain/storage.ts";
import type { MerchantStore, Merchant } from "../domain/merchants.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startServer } from "../testing/server.ts";
import { createKeyUses, createRetention } from "./housekeeping.ts";

const DAY = 86_400_000;
const named = (id: string) => ({ id, name: id, createdAt: 0 }) as never;

/** Deletes the events and phone numbers of three merchants, and returns the queries. A stop comes at `last`. */
async function retained(setting: { days?: number; phoneDays?: number }, last?: string) {
  const clock = createFakeClock();
  const stopping = new AbortController();
  const asked: RetentionQuery[] = [];
  const note = (query: RetentionQuery) => {
    if (query.merchantId === last) stopping.abort();
    return asked.push(query);
  };
  const storage = {
    listMerchants: async () => ["ada", "kofi", "esi"].map(named),
    erasePhones: async (query: RetentionQuery) => note(query) % 2 === 1,
    async pruneEvents(query: RetentionQuery & { after: number }) {
      note(query);
      return query.after < 400 ? query.after + 200 : undefined;
    },
  };
  await createRetention({ storage, clock, stopping: stopping.signal, ...setting })();
  return { asked, before: (days: number) => clock.now() - days * DAY };
}

test("deletes the old events of every merchant in small steps, and stops between two steps", async () => {
  const { asked, before } = await retained({ days: 90 }, "kofi");
  const step = (merchantId: string, after: number) => ({ merchantId, after, limit: 200, before: before(90) });
  expect(asked).toMatchObject([step("ada", 0), step("ada", 200), step("ada", 400), step("kofi", 0)]);
});

test("erases the old phone numbers of every merchant in small steps, and keeps events", async () => {
  const { asked, before } = await retained({ phoneDays: 30 });
  const merchants = ["ada", "ada", "kofi", "kofi", "esi", "esi"];
  expect(asked).toEqual(merchants.map((merchantId) => ({ merchantId, before: before(30), limit: 50 })));
});

test("the use of each key is stored once, also after a failed write", async () => {
  const recordKeyUses = vi.fn<MerchantStore["recordKeyUses"]>();
  const keyUses = createKeyUses({ storage: { recordKeyUses } as Partial<MerchantStore> as MerchantStore });
  const use = (keyId: string) => keyUses.note({ keyId, merchant: { id: "m" } as Merchant });
  await keyUses.record();
  for (const key of ["a", "b", "a"]) use(key);
  for (let count = 0; count < 2; count += 1) await keyUses.record();
  recordKeyUses.mockRejectedValueOnce(new Error("the disk is full"));
  use("a");
  await expect(keyUses.record()).rejects.toThrow("the disk is full");
  use("a");
  await keyUses.record();
  const stored = recordKeyUses.mock.calls.map(([keys]) => keys.map(({ id }) => id));
  expect(stored).toEqual([["a", "b"], ["a"], ["a"]]);
});

test("the use of a key shortly before a stop is stored", async () => {
  const { storage, request, merchant, close } = await startServer();
  const recordKeyUses = vi.spyOn(storage, "recordKeyUses");
  await request("GET", "/v1/disbursements");
  expect(recordKeyUses).not.toHaveBeenCalled();
  await close();
  expect(recordKeyUses.mock.calls).toMatchObject([[[{ merchantId: merchant.id }]]]);
});
