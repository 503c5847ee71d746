import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { aPayout, startServer } from "../testing/server.ts";
import { concurrently } from "../testing/storage/fixtures.ts";

test("who has filled the room for payments gets 429, and others 503, and nothing is recorded (D34)", async () => {
  const clock = createFakeClock();
  const gate = Promise.withResolvers<void>();
  let held = 0;
  const server = await startServer({
    clock,
    openStorage(how) {
      const storage = openSqlite(":memory:", how);
      const insertDisbursement: typeof storage.insertDisbursement = async (draft) => {
        held += 1;
        await gate.promise;
        return storage.insertDisbursement(draft);
      };
      return { ...storage, insertDisbursement };
    },
  });
  onTestFinished(server.close);
  const others = await concurrently(91, async (index) => (await server.addMerchant(`Shop ${index}`)).key);
  const [last, ...small] = others;
  const pay = (keys: string[]) => keys.map((key) => server.createPayout({}, { key }));
  // One merchant gets half of the room, less an eighth, and others find room for one each.
  const begun = pay(Array<string>(70).fill(server.key));
  await expect.poll(() => held).toBe(70);
  begun.push(...pay(small));
  await expect.poll(() => held).toBe(160);
  const late = [server.key, small[0]!, last!].map((key) => ({ body: aPayout(), key }));
  let isRefused = false;
  const refused = Promise.all(late.map(({ body, key }) => server.createPayout(body, { key })));
  void refused.finally(() => (isRefused = true));
  while (!isRefused) {
    clock.advance(5_000);
    await nextTurn();
  }
  expect((await refused).map(({ status, headers, body }) => [status, headers["retry-after"], body.code])).toEqual([
    [429, "1", "rate_limited"],
    [503, "1", "unavailable"],
    [503, "1", "unavailable"],
  ]);
  expect(held).toBe(160);
  gate.resolve();
  for (const response of begun) expect((await response).status).toBe(200);
  for (const { body, key } of late) expect((await server.createPayout(body, { key })).status).toBe(200);
});
