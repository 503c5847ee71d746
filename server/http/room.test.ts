import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startServer } from "../testing/server.ts";
import { concurrently } from "../testing/storage/fixtures.ts";

test("who has filled the room for payments gets 429, and others 503, and nothing is recorded (D34)", async () => {
  const clock = createFakeClock();
  const gate = Promise.withResolvers<void>();
  const held: string[] = [];
  const server = await startServer({
    clock,
    openStorage(how) {
      const storage = openSqlite(":memory:", how);
      const insertDisbursement: typeof storage.insertDisbursement = async (draft) => {
        held.push(draft.merchantId);
        await gate.promise;
        return storage.insertDisbursement(draft);
      };
      return { ...storage, insertDisbursement };
    },
  });
  onTestFinished(async () => {
    gate.resolve();
    await server.close();
  });
  const refused: unknown[] = [];
  async function pay(key: string) {
    const { status, headers, body } = await server.createPayout({}, { key });
    if (status !== 200) refused.push([key, status, body.code, headers["retry-after"]]);
  }
  const [newcomer, ...small] = await concurrently(91, async (at) => (await server.addMerchant(`Shop ${at}`)).key);
  // One merchant gets half of the room, less an eighth, and others find room for one each.
  const begun = Array.from({ length: 71 }, () => pay(server.key));
  await expect.poll(() => held.length).toBe(70);
  begun.push(...small.map(pay));
  await expect.poll(() => held.length).toBe(160);
  begun.push(pay(small[0]!), pay(newcomer!));
  while (refused.length < 3) {
    clock.advance(5_000);
    await nextTurn();
  }
  gate.resolve();
  await Promise.all(begun);
  const expected = [
    [server.key, 429, "rate_limited", "1"],
    [small[0], 503, "unavailable", "1"],
    [newcomer, 503, "unavailable", "1"],
  ];
  expect(new Set(refused)).toEqual(new Set(expected));
  expect([held.length, held.filter((id) => id === server.merchant.id).length]).toEqual([160, 70]);
});
