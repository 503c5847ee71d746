import { expect, test, vi } from "vitest";
import { startServer } from "../testing/server.ts";
import { start } from "../testing/table.ts";
import { DAY } from "../testing/times.ts";

test("old phone numbers are erased and old events deleted, of every merchant", async () => {
  const server = await start({ env: { PHONE_RETENTION_DAYS: "30", RETENTION_DAYS: "90" } });
  const keys = [server.key, (await server.addMerchant("Kofi")).key];
  const list = async (path: string) => {
    const all = await Promise.all(keys.map((key) => server.request("GET", path, { key })));
    return all.flatMap(({ body }) => body.data.items);
  };
  const phones = async () => (await list("/v1/disbursements")).map(({ customer }) => customer.phoneNumber);
  for (const key of keys) await server.createPayout({ phoneNumber: "2257038102001" }, { key });
  server.clock.advance(29 * DAY);
  expect(await phones()).toEqual(["2257038102001", "2257038102001"]);
  server.clock.advance(2 * DAY);
  await expect.poll(phones).toEqual(["2250000000000", "2250000000000"]);
  expect(await list("/sandbox/events")).toHaveLength(2);
  server.clock.advance(60 * DAY);
  await expect.poll(() => list("/sandbox/events")).toEqual([]);
});

test("the use of each key is stored once a minute, again after a failed write, and before a stop", async () => {
  const { storage, request, addMerchant, clock, close } = await startServer();
  const recordKeyUses = vi.spyOn(storage, "recordKeyUses");
  const stored = () => recordKeyUses.mock.calls.map(([keys]) => keys.length);
  const { key } = await addMerchant("Kofi");
  const use = () => request("GET", "/v1/disbursements");
  for (const send of [use, () => request("GET", "/v1/balances", { key }), use]) await send();
  expect(stored()).toEqual([]);
  recordKeyUses.mockRejectedValueOnce(new Error("the disk is full"));
  clock.advance(60_000);
  await expect.poll(stored).toEqual([2]);
  await use();
  clock.advance(60_000);
  await expect.poll(stored).toEqual([2, 1]);
  await use();
  await close();
  expect(stored()).toEqual([2, 1, 1]);
});
