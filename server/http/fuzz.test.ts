import { expect, test } from "vitest";
import { fuzz, hasNoRecords } from "../testing/fuzz.ts";
import { startServer } from "../testing/server.ts";

test("refuses two thousand invalid requests with the expected statuses and records nothing", async () => {
  const server = await startServer();
  const refused = await fuzz({ request: server.request, count: 2_000, seed: 20_261_120 });
  expect([...refused.keys()].toSorted()).toEqual([400, 401, 404, 405, 413, 415, 422]);
  expect([...refused.values()].reduce((sum, count) => sum + count)).toBe(2_000);
  expect(await hasNoRecords(server.request)).toBe(true);

  // This request proves that hasNoRecords can fail.
  await server.createPayout();
  expect(await hasNoRecords(server.request)).toBe(false);
  await server.close();
});
