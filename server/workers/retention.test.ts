import { expect, test } from "vitest";
import type { ErasureQuery, PruneQuery } from "../domain/housekeeping.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createRetention } from "./retention.ts";

const clock = createFakeClock();
const DAY = 86_400_000;

test("deletes the old events of every merchant in small steps, and stops between two steps", async () => {
  const asked: PruneQuery[] = [];
  const stopping = new AbortController();
  const storage = {
    listMerchants: async () => ["ada", "kofi", "esi"].map((id) => ({ id, name: id, createdAt: 0 }) as never),
    erasePhones: async () => Promise.reject(new Error("No retention of phone numbers was set.")),
    async pruneEvents(query: PruneQuery) {
      asked.push(query);
      if (query.merchantId === "kofi") stopping.abort();
      return { events: 1, attempts: 1, bytes: 1, ...(query.after < 400 && { next: query.after + 200 }) };
    },
  };
  await createRetention({ storage, clock, days: 90, stopping: stopping.signal })();
  expect(asked.map(({ merchantId, after }) => [merchantId, after])).toEqual([
    ["ada", 0],
    ["ada", 200],
    ["ada", 400],
    ["kofi", 0],
  ]);
  expect(asked[0]).toMatchObject({ before: clock.now() - 90 * DAY, limit: 200, dryRun: false });
});

test("erases the old phone numbers of every merchant in small steps, and keeps events", async () => {
  const asked: ErasureQuery[] = [];
  const storage = {
    listMerchants: async () => ["ada", "kofi"].map((id) => ({ id, name: id, createdAt: 0 }) as never),
    pruneEvents: async () => Promise.reject(new Error("No retention of events was set.")),
    async erasePhones(query: ErasureQuery) {
      asked.push(query);
      return { erased: 50, isDone: asked.length % 2 === 0 };
    },
  };
  await createRetention({ storage, clock, phoneDays: 30, stopping: new AbortController().signal })();
  const before = clock.now() - 30 * DAY;
  const step = (merchantId: string) => ({ merchantId, before, limit: 50 });
  expect(asked).toEqual([step("ada"), step("ada"), step("kofi"), step("kofi")]);
});
