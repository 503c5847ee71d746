import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/http.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { addDelivery, claimAll, concurrently } from "../testing/storage/fixtures.ts";
import { HOUR } from "../testing/times.ts";
import { sign } from "../webhooks/send.ts";
import { HELD_MS, LEASE_MS } from "./queue-worker.ts";

let server: TestServer;
/** Resolves the names of receivers; no name has an address yet. */
let names: PromiseWithResolvers<string[]>;
let healthy: Receiver;
/** A receiver that holds its responses back until a test sends them, or accepts everything. */
let moody: Awaited<ReturnType<typeof serve>>;
let accepts: boolean;
/** Emits "held" with the response that a request waits for. */
let arrivals: EventEmitter;
let held: number;

beforeEach(async () => {
  names = Promise.withResolvers();
  server = await startServer({ lookup: () => names.promise });
  healthy = await startReceiver();
  arrivals = new EventEmitter();
  [accepts, held] = [false, 0];
  moody = await serve((request, response) => {
    if (!accepts) held += 1;
    request.resume().on("end", () => {
      if (accepts) response.writeHead(204).end();
      else arrivals.emit("held", response);
    });
  });
});
afterEach(async () => {
  names.resolve([]);
  await moody.close();
  await server.close();
  await healthy.close();
});

/** Creates a payout that is final immediately. */
const pay = (webhookURL: string, key = server.key) =>
  server.createPayout({ phoneNumber: "2257038102001", webhookURL }, { key });
const replay = ({ id }: { id: string }) => server.request("POST", `/sandbox/deliveries/${id}/replay`);
const deliveries = async () => (await server.request("GET", "/sandbox/deliveries?limit=100")).body.data.items;

const delivered = async () => (await deliveries()).filter(({ status }: any) => status === "delivered");

/** Does something that sends a webhook to the moody receiver. Returns the response that the webhook waits for. */
async function heldDuring(send: () => unknown): Promise<ServerResponse> {
  const arrival = once(arrivals, "held");
  void send();
  return (await arrival)[0] as ServerResponse;
}
const heldAttempt = () => heldDuring(() => pay(moody.url));

describe("an attempt in progress", () => {
  test("is not repeated after its lease has expired", async () => {
    const response = await heldAttempt();
    // Time jumps past the end of the lease, as it does when the system clock is corrected or a laptop wakes up.
    server.clock.advance(61_000);
    expect(await server.service.deliveries.begin()).toBe(0);
    response.writeHead(204).end();
    await server.service.deliveries.idle();
    expect([held, (await deliveries())[0].status]).toEqual([1, "delivered"]);
  });

  test("that a stop aborts is due for another process after its lease", async () => {
    await heldAttempt();
    let isStopped = false;
    const stopped = server.service.stop(0).then(() => (isStopped = true));
    while (!isStopped) {
      server.clock.advance(0);
      await nextTurn();
    }
    await stopped;
    expect(await claimAll(server.storage)).toEqual([]);
    server.clock.advance(LEASE_MS);
    expect(await claimAll(server.storage)).toMatchObject([{ step: 0 }]);
  });

  /** Lets its receiver respond. Returns the results that are recorded. */
  async function recordedOf(response: ServerResponse) {
    response.writeHead(204).end();
    await server.service.deliveries.idle();
    return (await deliveries())[0].attempts;
  }
  const away = () => Promise.reject(new Error("the database is away"));

  test.each([
    [HELD_MS - 1, 1],
    [HELD_MS, 0],
  ])("whose claim was not renewed for %i ms is recorded %i times", async (milliseconds, count) => {
    server.storage.renewClaims = away;
    const response = await heldAttempt();
    server.clock.advance(milliseconds);
    server.service.deliveries.endLapsed();
    expect(await recordedOf(response)).toHaveLength(count);
  });

  test("whose claim is renewed lasts as long as its receiver takes", async () => {
    const response = await heldAttempt();
    for (let seconds = 0; seconds < 9; seconds += 1) {
      server.clock.advance(1_000);
      await server.service.deliveries.renew();
      server.service.deliveries.endLapsed();
    }
    expect(await recordedOf(response)).toHaveLength(1);
  });

  test("has a renewal that counts from when it was sent, because the storage may respond late", async () => {
    const response = await heldAttempt();
    server.storage.renewClaims = async () => {
      server.storage.renewClaims = away;
      server.clock.advance(HELD_MS);
    };
    await server.service.deliveries.renew();
    server.service.deliveries.endLapsed();
    expect(await recordedOf(response)).toEqual([]);
  });

  test("does not begin if the claim arrives too late", async () => {
    const { claimDeliveries } = server.storage;
    server.storage.claimDeliveries = async (...which) => {
      const claimed = await claimDeliveries(...which);
      server.clock.advance(HELD_MS);
      return claimed;
    };
    await pay(healthy.url);
    expect(await server.service.deliveries.begin()).toBe(0);
    await server.service.deliveries.idle();
    expect(healthy.received).toEqual([]);
  });

  test("ends before the delay of the retry starts (D13)", async () => {
    const response = await heldAttempt();
    server.clock.advance(12_000);
    response.writeHead(500).end();
    await server.service.deliveries.idle();
    const [{ attempts, nextAttemptAt }] = await deliveries();
    expect(attempts[0].latencyMs).toBe(12_000);
    const wait = Date.parse(nextAttemptAt) - Date.parse(attempts[0].at);
    expect(wait).toBeGreaterThanOrEqual(12_000 + 4_000);
    expect(wait).toBeLessThanOrEqual(12_000 + 6_000);
  });

  test("of a replay whose delivery a reset deletes meanwhile: the response says that the replay was recorded", async () => {
    (await heldAttempt()).writeHead(204).end();
    await server.service.deliveries.idle();
    const [delivery] = await deliveries();
    let response!: ReturnType<typeof replay>;
    const again = await heldDuring(() => (response = replay(delivery)));
    expect((await server.request("POST", "/sandbox/reset")).status).toBe(200);
    again.writeHead(204).end();
    const { status, body } = await response;
    expect(status).toBe(500);
    expect(body.message).toContain("Recorded before this error");
  });
});

test("a webhook is signed with each secret that was replaced within the last 24 hours", async () => {
  const secrets = [(await server.request("GET", "/sandbox/webhook-secret")).body.data.secret];
  /** Sends a webhook, and says for each secret whether it has signed. */
  async function signed() {
    const count = healthy.received.length;
    await pay(healthy.url);
    await healthy.until(count + 1);
    const { headers, text } = healthy.received.at(-1)!;
    const [id, seconds] = [String(headers["webhook-id"]), Number(headers["webhook-timestamp"])];
    const signatures = String(headers["webhook-signature"]).split(" ");
    return secrets.map((secret) => signatures.includes(sign([secret], id, seconds, text)));
  }
  for (let hours = 0; hours < 3; hours += 1) {
    secrets.push((await server.request("POST", "/sandbox/webhook-secret/rotate")).body.data.secret);
    server.clock.advance(HOUR);
  }
  expect(await signed()).toEqual([true, true, true, true]);
  server.clock.advance(21.5 * HOUR);
  expect(await signed()).toEqual([false, true, true, true]);
  server.clock.advance(24 * HOUR);
  expect(await signed()).toEqual([false, false, false, true]);
});

test("replays to a receiver that hangs take only its slots, stay queued, and delay no webhook of others", async () => {
  const count = 90;
  accepts = true;
  await Promise.all(Array.from({ length: count }, () => pay(moody.url)));
  await expect.poll(async () => (await delivered()).length).toBe(count);
  accepts = false;
  const replays: ReturnType<typeof replay>[] = (await delivered()).map(replay);

  const { key } = await server.addMerchant("Kofi");
  await pay(healthy.url, key);
  await expect.poll(() => healthy.received.length).toBe(1);
  // A merchant alone gets half of a receiver's slots.
  await expect.poll(() => held).toBe(63);
  // One merchant's requests may wait for 35 replays.
  const answered: any[] = [];
  const note = (response: any) => answered.push(response);
  for (const response of replays) void response.then(note, () => undefined);
  await expect.poll(() => answered.length).toBe(count - 35);
  expect(answered.every(({ status, body }) => status === 200 && body.data.status === "pending")).toBe(true);
  expect(held).toBe(63);

  accepts = true;
  moody.disconnect();
  await Promise.all(replays);
  await server.pass(6_000);
  await expect.poll(async () => (await delivered()).length).toBe(count);
});

test.each<[string, (index: number) => string]>([
  ["a receiver that never responds", () => moody.url],
  ["900 dead hosts", (index) => `http://dead-${index % 900}.example/`],
])("1,100 webhooks of one merchant to %s delay none of another merchant's 1,000 (D13, D56)", async (_, addressOf) => {
  const { merchant } = await server.addMerchant("Kofi & Sons");
  const ended: string[] = [];
  server.telemetry.on("attempt", ({ merchantId, status }) => void ended.push(`${merchantId} ${status}`));
  const insert = (merchantId: string, webhookURL: string) => addDelivery(server.storage, merchantId, { webhookURL });
  await concurrently(1_100, (index) => insert(server.merchant.id, addressOf(index)));
  while ((await server.service.deliveries.begin()) > 0);
  await concurrently(1_000, () => insert(merchant.id, healthy.url));

  // The others are delivered before any attempt of the first merchant has ended.
  while (ended.length < 1_000) {
    await server.service.deliveries.begin();
    await nextTurn();
  }
  expect(new Set(ended)).toEqual(new Set([`${merchant.id} delivered`]));
  expect(healthy.received).toHaveLength(1_000);
});
