// A real process whose PostgreSQL server is frozen or slow, or whose connections the network drops without a sign.
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startOwnPostgres } from "./testing/own-postgres.ts";
import { useDatabase } from "./testing/places.ts";
import { startPostgresProxy, type PostgresProxy } from "./testing/postgres-proxy.ts";
import type { ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { testProcess } from "./testing/places.ts";
import { concurrently } from "./testing/storage/fixtures.ts";

const KEY = "a-key-for-tests-of-slow-databases";
const CALLERS = 60;
const PATH = "/v1/disbursements";
/** The limit for the storage's part of a request, and a margin for a busy machine. Callers wait 15 seconds. */
const LONGEST_MS = 12_000;

let server: ServerProcess;

async function create(body = aPayout(), client = server.client(KEY)) {
  const begun = performance.now();
  const response = await client.request("POST", PATH, { body });
  return { ...response, sent: body, tookMs: performance.now() - begun };
}

/** Creates payouts with many callers until the returned function ends this. The test uses each reference once. */
function startLoad() {
  const client = server.client(KEY);
  const results: Awaited<ReturnType<typeof create>>[] = [];
  let isEnded = false;
  const calling = concurrently(CALLERS, async () => {
    while (!isEnded) results.push(await create(aPayout(), client));
  });
  return {
    results,
    with: (status: number) => results.filter((response) => response.status === status),
    async end() {
      isEnded = true;
      await calling;
    },
  };
}

test("a frozen database refuses creates in time, loses none and is used again when it reacts", async () => {
  const postgres = await startOwnPostgres();
  onTestFinished(async () => {
    postgres.thaw();
    await postgres.close();
  });
  server = await testProcess({ DATABASE_URL: postgres.url, SANDBOX_API_KEY: KEY });
  const load = startLoad();
  onTestFinished(load.end);
  const count = (status: number) => load.with(status).length;
  await expect.poll(() => count(200)).toBeGreaterThan(CALLERS);
  await postgres.freeze();
  // Every caller has been refused, and is waiting again.
  await expect.poll(() => count(503) + count(500)).toBeGreaterThan(2 * CALLERS);
  const before = count(200);
  postgres.thaw();
  await expect.poll(() => count(200)).toBeGreaterThan(before);
  await load.end();

  // Ten seconds, and a margin for a very busy machine.
  expect(Math.max(...load.results.map(({ tookMs }) => tookMs))).toBeLessThan(25_000);
  const statuses = new Set(load.results.map(({ status }) => status));
  expect([...statuses]).toEqual(expect.arrayContaining([200, 503]));
  for (const { body, headers } of load.with(503)) {
    expect(body.code).toBe("unavailable");
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  }
  const rows = await postgres.run("SELECT merchants_reference FROM disbursements");
  const stored = new Set(rows.map((row) => row.merchants_reference));
  const isStored = ({ sent }: { sent: { reference: string } }) => stored.has(sent.reference);
  expect(load.with(200).every(isStored)).toBe(true);
  expect(load.with(503).some(isStored)).toBe(false);
  // 500 means that the outcome is unknown. A repeated request shows the outcome: 200 if the payout was not recorded,
  // otherwise 409.
  for (const { sent } of load.with(500)) {
    const again = await create(sent);
    expect(again.status).toBe(isStored({ sent }) ? 409 : 200);
    if (again.status === 409)
      expect((await server.client(KEY).request("GET", again.headers.location!)).status).toBe(200);
  }
});

describe("behind a network", () => {
  const database = useDatabase();
  let proxy: PostgresProxy;
  beforeEach(async () => {
    await database.empty();
    proxy = await startPostgresProxy(database.url);
    onTestFinished(proxy.close);
    server = await testProcess({ DATABASE_URL: proxy.url, SANDBOX_API_KEY: KEY, RATE_LIMIT: "1000", ROLE: "api" });
  });

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
    const warm = await concurrently(40, () => create());
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
});
