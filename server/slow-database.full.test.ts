// A real process whose database freezes or is slow, or whose connections the network drops without a sign.
import { expect, onTestFinished, test } from "vitest";
import type { HttpResponse } from "./testing/http.ts";
import { startOwnPostgres } from "./testing/own-postgres.ts";
import { testDatabase, testProcess } from "./testing/places.ts";
import { startPostgresProxy } from "./testing/postgres-proxy.ts";
import type { ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { concurrently } from "./testing/storage/fixtures.ts";

const CALLERS = 60;
/** The limit for the storage's part of a request, and a margin for a busy machine. Callers wait 15 seconds. */
const LONGEST_MS = 12_000;

interface Created extends HttpResponse {
  sent: ReturnType<typeof aPayout>;
  tookMs: number;
}
async function create({ createPayout }: ServerProcess, sent = aPayout()): Promise<Created> {
  const begun = performance.now();
  return { ...(await createPayout(sent)), sent, tookMs: performance.now() - begun };
}

test("a frozen database refuses creates in time, loses none and is used again when it reacts", async () => {
  const postgres = await startOwnPostgres();
  onTestFinished(postgres.close);
  const server = await testProcess({ DATABASE_URL: postgres.url });
  const results: Created[] = [];
  let isEnded = false;
  const calling = concurrently(CALLERS, async () => {
    while (!isEnded) results.push(await create(server));
  });
  const of = (...statuses: number[]) => results.filter(({ status }) => statuses.includes(status));
  await expect.poll(() => of(200).length).toBeGreaterThan(CALLERS);
  await postgres.freeze();
  // Every caller has been refused, and is waiting again.
  await expect.poll(() => of(503, 500).length).toBeGreaterThan(2 * CALLERS);
  expect((await server.request("GET", "/readyz")).status).toBe(503);
  expect((await server.request("GET", "/healthz")).status).toBe(200);
  const before = of(200).length;
  postgres.thaw();
  await expect.poll(() => of(200).length).toBeGreaterThan(before);
  isEnded = true;
  await calling;

  // Ten seconds, and a margin for a very busy machine.
  expect(Math.max(...results.map(({ tookMs }) => tookMs))).toBeLessThan(25_000);
  expect(of(200, 500, 503)).toHaveLength(results.length);
  for (const { body, headers } of of(503))
    expect([body.code, Number(headers["retry-after"]) > 0]).toEqual(["unavailable", true]);
  const rows = await postgres.run("SELECT merchants_reference FROM disbursements");
  const stored = new Set(rows.map((row) => row.merchants_reference));
  expect(of(200).filter(({ sent }) => !stored.has(sent.reference))).toEqual([]);
  expect(of(503).filter(({ sent }) => stored.has(sent.reference))).toEqual([]);
  // 500 means that the outcome is unknown. A repeated request shows the outcome: 200 if the payout was not recorded,
  // otherwise 409.
  for (const { sent } of of(500)) {
    const again = await server.createPayout(sent);
    expect(again.status).toBe(stored.has(sent.reference) ? 409 : 200);
    if (again.status === 409) expect((await server.request("GET", again.headers.location!)).status).toBe(200);
  }
  await expect.poll(async () => (await server.request("GET", "/readyz")).status).toBe(200);
});

async function startBehindProxy() {
  const database = await testDatabase();
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(proxy.close);
  return { database, proxy, server: await testProcess({ DATABASE_URL: proxy.url, RATE_LIMIT: "1000", ROLE: "api" }) };
}

test("a create of many operations on a slow database ends in time, and what it says of its outcome is true", async () => {
  const { database, proxy, server } = await startBehindProxy();
  // The sandbox refuses the first two attempts with this number, so the storage counts each attempt.
  const sent = aPayout({ phoneNumber: "2257038102503" });
  for (let attempt = 0; attempt < 2; attempt += 1) expect((await create(server, sent)).status).toBe(503);
  proxy.delayMs = 1_500;
  const slow = await create(server, sent);
  proxy.delayMs = 0;
  expect(slow.tookMs).toBeLessThan(LONGEST_MS);
  expect(slow).toMatchObject({ status: 503, body: { code: "unavailable" } });
  expect(await database.run("SELECT reference FROM disbursements")).toEqual([]);
  expect((await create(server, sent)).status).toBe(200);
});

test("connections that the network has forgotten delay creates once, and not for long", async () => {
  const { proxy, server } = await startBehindProxy();
  const warm = await concurrently(40, () => create(server));
  expect(new Set(warm.map(({ status }) => status))).toEqual(new Set([200]));
  proxy.forget();
  const first = await create(server);
  expect(first.tookMs).toBeLessThan(LONGEST_MS);
  expect([200, 503]).toContain(first.status);
  const again = await create(server, first.sent);
  expect(again.status).toBe(first.status === 200 ? 409 : 200);
  expect(again.tookMs).toBeLessThan(4_000);
});
