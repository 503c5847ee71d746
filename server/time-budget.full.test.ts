// A real process whose database is slow, or whose connections the network drops without a sign.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startPostgresProxy, type PostgresProxy } from "./testing/postgres-proxy.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "./testing/postgres.ts";
import { startProcess, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { concurrently } from "./testing/storage/fixtures.ts";

const KEY = "a-key-for-tests-of-time-budgets";
/** The limit for the storage's part of a request, and a margin for a busy machine. Callers wait 15 seconds. */
const LONGEST_MS = 12_000;
let database: TestDatabase;
let proxy: PostgresProxy;
let server: ServerProcess;

beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.empty();
  proxy = await startPostgresProxy(database.url);
  server = await startProcess({ DATABASE_URL: proxy.url, SANDBOX_API_KEY: KEY, RATE_LIMIT: "1000", ROLE: "api" });
});
afterEach(async () => {
  server.kill("SIGKILL");
  await server.ended;
  await proxy.close();
});

async function create(body: ReturnType<typeof aPayout>) {
  const { request, close } = server.client(KEY);
  const begun = performance.now();
  const response = await request("POST", "/v1/disbursements", { body });
  await close();
  return { ...response, tookMs: performance.now() - begun };
}

test("a create of many operations on a slow database ends in time, and what it says of its outcome is true", async () => {
  // The sandbox refuses the first two attempts with this number, so the storage counts each attempt.
  const body = aPayout({ phoneNumber: "2257038102503" });
  for (let attempt = 0; attempt < 2; attempt += 1) expect((await create(body)).status).toBe(503);
  proxy.delayMs = 1_500;
  const slow = await create(body);
  proxy.delayMs = 0;
  expect(slow.tookMs).toBeLessThan(LONGEST_MS);
  expect(slow).toMatchObject({ status: 503, body: { code: "unavailable" } });
  expect(await database.run("SELECT reference FROM disbursements")).toEqual([]);
  expect((await create(body)).status).toBe(200);
});

test("connections that the network has forgotten delay creates once, and not for long", async () => {
  const warm = await concurrently(40, () => create(aPayout()));
  expect(new Set(warm.map(({ status }) => status))).toEqual(new Set([200]));
  proxy.forget();
  const body = aPayout();
  const first = await create(body);
  expect(first.tookMs).toBeLessThan(LONGEST_MS);
  expect([200, 503]).toContain(first.status);
  const again = await create(body);
  expect(again.status).toBe(first.status === 200 ? 409 : 200);
  expect(again.tookMs).toBeLessThan(4_000);
});
