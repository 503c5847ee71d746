import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { components } from "../../generated/openapi.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/http.ts";
import { testFolder } from "../testing/resources.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { start } from "../testing/table.ts";

type Delivery = components["schemas"]["Delivery"];

let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  [server, receiver] = await Promise.all([start(), startReceiver()]);
  onTestFinished(() => receiver.close());
});

const DAY_S = 86_400;
/** The number of attempts of a delivery that never succeeds (D13). */
const ATTEMPTS = 10;
const advance = (seconds: number) => server.request("POST", "/sandbox/clock/advance", { body: { seconds } });
const payout = async (changes: Parameters<TestServer["createPayout"]>[0] = {}) =>
  (await server.createPayout({ webhookURL: receiver.url, ...changes })).body.data.reference as string;
const deliveries = async (): Promise<Delivery[]> =>
  (await server.request("GET", "/sandbox/deliveries")).body.data.items;

test("an advance of the clock processes settlements, webhooks and expiries in order, each at its own time (D18)", async () => {
  const { reference: checkout } = (await server.createCheckout({ webhookURL: receiver.url })).body.data;
  server.clock.advance(1_000);
  const first = await payout();
  server.clock.advance(500);
  const second = await payout({ phoneNumber: "2257038102089" });
  await advance(DAY_S);

  expect(receiver.received.map(({ body }) => [body.event, body.data.reference, body.data.updatedAt])).toEqual([
    ["disbursement.completed", first, "2026-11-20T09:30:03.000Z"],
    ["disbursement.failed", second, "2026-11-20T09:30:03.500Z"],
    ["checkout.cancelled", checkout, "2026-11-20T10:00:00.000Z"],
  ]);
  const delivered = (await deliveries()).toReversed();
  expect(delivered.map(({ attempts }) => attempts.map(({ at }) => at))).toEqual([
    ["2026-11-20T09:30:03.000Z"],
    ["2026-11-20T09:30:03.500Z"],
    ["2026-11-20T10:00:00.000Z"],
  ]);
});

test.each([
  { first: 500, later: 500, status: "exhausted", made: ATTEMPTS },
  { first: 503, later: 202, status: "delivered", made: 2 },
  { first: 410, later: 500, status: "ended", made: 1 },
])(
  "a receiver that returns $first, then $later, gets $made attempts with one id, then none until a replay (D13)",
  async (row) => {
    const { first, later, status, made } = row;
    receiver.respondWith(first);
    await payout();
    await advance(2);
    receiver.respondWith(later);
    for (let weeks = 0; weeks < 2; weeks += 1) await advance(7 * DAY_S);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({
      status,
      attempts: Array.from({ length: made }, (_, index) => ({ number: index + 1 })),
    });
    expect(delivery).not.toHaveProperty("nextAttemptAt");

    const replay = async () => (await server.request("POST", `/sandbox/deliveries/${delivery!.id}/replay`)).body.data;
    receiver.respondWith(500);
    expect(await replay()).toMatchObject({ status: "pending" });
    await advance(7 * DAY_S);
    expect(await deliveries()).toMatchObject([{ status: "exhausted" }]);
    receiver.respondWith(200);
    expect(await replay()).toMatchObject({ id: delivery!.id, status: "delivered" });
    expect(receiver.received).toHaveLength(made + ATTEMPTS + 1);
    const sent = receiver.received.map(({ headers, text }) => `${String(headers["webhook-id"])} ${text}`);
    expect(new Set(sent).size).toBe(1);
  },
);

test("a retry that succeeds makes others that wait for the receiver due early (D13)", async () => {
  receiver.respondWith(500);
  for (let made = 0; made < 3; made += 1) await payout();
  for (const wait of [2_000, 8_000]) await server.pass(wait);
  await payout();
  await server.pass(2_000);
  receiver.respondWith(200);
  // The last webhook's retry is due; the others have failed twice and wait for minutes.
  await server.pass(8_000);
  await receiver.until(3 * 2 + 1 + 4);
  await server.pass(0);
  expect(await deliveries()).toMatchObject(Array.from({ length: 4 }, () => ({ status: "delivered" })));
});

/**
 * Starts a receiver of webhooks for `events` events. The receiver waits until a webhook of each event has arrived, then
 * returns 500 to all webhooks. An advance therefore ends only if the attempts of different events are made in parallel.
 */
async function startBarrier(events: number) {
  const rounds: string[][] = [[]];
  const waiting: ServerResponse[] = [];
  const { url, close } = await serve((request, response) => {
    request.resume();
    rounds.at(-1)!.push(String(request.headers["webhook-id"]));
    waiting.push(response);
    if (waiting.length < events) return;
    rounds.push([]);
    for (const each of waiting.splice(0)) each.writeHead(500).end();
  });
  return { url, rounds, close };
}

test("retries of 50 events take ten rounds, in each of which every event has one attempt", async () => {
  const { url, rounds, close } = await startBarrier(50);
  for (let made = 0; made < 50; made += 1) await payout({ webhookURL: url });
  await advance(6 * DAY_S);
  const full = rounds.filter((ids) => ids.length > 0);
  expect(full.map((ids) => new Set(ids).size)).toEqual(Array.from({ length: ATTEMPTS }, () => 50));
  const listed = (await server.request("GET", "/sandbox/deliveries?limit=100")).body.data.items as Delivery[];
  expect(listed).toHaveLength(50);
  for (const { status, attempts } of listed) {
    expect(status).toBe("exhausted");
    const times = attempts.map(({ at }) => at);
    expect(times).toEqual(times.toSorted());
  }
  await close();
});

test("a server that stops aborts an advance, records the attempts so far, and leaves the rest to the next start", async () => {
  const path = join(testFolder(), "server.db");
  const openStorage = (how: Parameters<typeof openSqlite>[1]) => openSqlite(path, how);
  const first = await startServer({ openStorage });
  receiver.respondWith(500);
  await first.createPayout({ webhookURL: receiver.url });
  const moved = first.request("POST", "/sandbox/clock/advance", { body: { seconds: 6 * DAY_S } });
  await receiver.until(2);
  first.service.release();
  const response = await moved;
  expect(response.status).toBe(500);
  expect(response.body.message).toMatch(/^The server is stopping\. .* Recorded before this error: /);
  const { clock, merchant } = first;
  await first.close();

  const second = await startServer({ openStorage, clock, seed: 2 });
  const read = async () => (await second.storage.listDeliveries({ merchantId: merchant.id, limit: 1 })).items[0]!;
  expect((await read()).attempts.length).toBeGreaterThanOrEqual(1);
  while ((await read()).status === "pending") await new Promise(setImmediate);
  const { status, attempts } = await read();
  expect([status, attempts.length]).toEqual(["exhausted", ATTEMPTS]);
  // The attempts have the dates at which they fell due, and not the date at which the second server started.
  expect(attempts.at(-1)!.at).toBeLessThan(Date.UTC(2026, 10, 20, 9, 30) + 6 * DAY_S * 1_000);
  await second.close();
});
