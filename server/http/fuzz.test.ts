import { expect, test } from "vitest";
import { fuzz, hasNoRecords } from "../testing/fuzz.ts";
import { startServer } from "../testing/server.ts";

test("of two thousand wrong requests each is refused as it should be, and nothing is recorded", async () => {
  const server = await startServer();
  const refused = await fuzz({ request: server.request, count: 2_000, seed: 20_261_120 });
  expect([...refused.keys()].toSorted()).toEqual([400, 401, 404, 405, 413, 415, 422]);
  expect([...refused.values()].reduce((sum, count) => sum + count)).toBe(2_000);
  expect(await hasNoRecords(server.request)).toBe(true);

  // The last look would see a record: one that is made is found.
  await server.createPayout();
  expect(await hasNoRecords(server.request)).toBe(false);
  await server.close();
});
