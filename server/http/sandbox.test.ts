import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startReceiver, type Received, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  server = await startServer();
  receiver = await startReceiver();
});
afterEach(async () => {
  await server.close();
  await receiver.close();
});

const get = async (path: string, key = server.key) => (await server.request("GET", path, { key })).body.data;
const post = async (path: string, body?: unknown, key = server.key) =>
  (await server.request("POST", path, { body, key })).body.data;
const advance = (seconds: number, key = server.key) => post("/sandbox/clock/advance", { seconds }, key);
const payout = async (changes: Parameters<TestServer["createPayout"]>[0] = {}, key = server.key) =>
  (await server.createPayout({ webhookURL: receiver.url, ...changes }, { key })).body.data.reference as string;

/** Verifies a webhook with the npm package, at the server's current time. */
function verified({ text, headers }: Received, secret: string): unknown {
  vi.useFakeTimers({ toFake: ["Date"], now: server.clock.now() });
  try {
    return new Webhook(secret).verify(text, headers as Record<string, string>);
  } finally {
    vi.useRealTimers();
  }
}

test("the clock is at most a year ahead of real time, by one move or the sum of several, by a period or to a time", async () => {
  const refused = async (body: object, path: string) => {
    const response = await server.request("POST", "/sandbox/clock/advance", { body });
    expect(response).toMatchObject({ status: 422, body: { fields: [{ path, code: "maximum" }] } });
    expect(response.body.message).toContain(`${path} must not move the clock more than 365 days ahead of real time`);
  };
  await refused({ to: "9990-01-01T00:00:00.000Z" }, "to");
  await refused({ to: "2027-11-20T09:30:00.001Z" }, "to");
  expect(await get("/sandbox/clock")).toEqual({ now: "2026-11-20T09:30:00.000Z" });
  const latest = "2027-11-20T09:30:00.000Z";
  expect(await post("/sandbox/clock/advance", { to: latest })).toEqual({ now: latest });
  await refused({ seconds: 1 }, "seconds");
  expect(await post("/sandbox/clock/advance", { to: latest })).toEqual({ now: latest });
  expect(await advance(0)).toEqual({ now: latest });
  await post("/sandbox/reset");
  await advance(31_535_999);
  await refused({ seconds: 2 }, "seconds");
  expect(await advance(1)).toEqual({ now: latest });
  server.clock.advance(1_000);
  await refused({ seconds: 1 }, "seconds");
  expect(await get("/sandbox/clock")).toEqual({ now: "2027-11-20T09:30:01.000Z" });
});

test("webhooks carry the record as verify returns it, with a signature that the npm package accepts", async () => {
  const reference = await payout({ reference: "Été №1 🧵" });
  await advance(2);
  const { secret } = await get("/sandbox/webhook-secret");
  const [webhook] = receiver.received;
  const data = await get(`/v1/disbursements/${reference}`);
  expect(verified(webhook!, secret)).toEqual({ event: "disbursement.completed", data });
  const { items: events } = await get("/sandbox/events");
  expect(events).toEqual([
    { id: webhook!.headers["webhook-id"], createdAt: data.updatedAt, reference, body: webhook!.body },
  ]);
});

test("webhooks are signed with every secret of several rotations within a day, each until its own expiry (D12)", async () => {
  const { secret: first } = await get("/sandbox/webhook-secret");
  const { secret: second } = await post("/sandbox/webhook-secret/rotate");
  await advance(3_600);
  const { secret: third } = await post("/sandbox/webhook-secret/rotate");
  await payout({ phoneNumber: "2257038102001" });
  await advance(0);
  const [webhook] = receiver.received;
  for (const secret of [first, second, third]) expect(verified(webhook!, secret)).toEqual(webhook!.body);

  await advance(82_800);
  await payout({ phoneNumber: "2257038102001" });
  await advance(0);
  const later = receiver.received.at(-1)!;
  for (const secret of [second, third]) expect(verified(later, secret)).toEqual(later.body);
  expect(() => verified(later, first)).toThrow("No matching signature found");
});

test("a reset deletes the merchant's records and restores real time; key, secret and other merchants are unchanged", async () => {
  const { key } = await server.addMerchant("Kofi & Sons");
  const secret = await get("/sandbox/webhook-secret");
  const [mine, other] = [await payout({ reference: "same" }), await payout({ reference: "same" }, key)];
  const { reference: checkout } = (await server.createCheckout()).body.data;
  await Promise.all([advance(3_600), advance(3_600, key)]);

  expect(await post("/sandbox/reset")).toEqual({ now: "2026-11-20T09:30:00.000Z" });
  for (const path of [`/v1/disbursements/${mine}`, `/v1/checkouts/${checkout}`, `/checkouts/${checkout}`]) {
    expect((await server.request("GET", path)).status).toBe(404);
  }
  expect([await get("/sandbox/events"), await get("/sandbox/deliveries")]).toEqual([{ items: [] }, { items: [] }]);
  expect(await get("/sandbox/webhook-secret")).toEqual(secret);
  expect((await server.createPayout({ reference: "same" })).status).toBe(200);

  expect(await get("/sandbox/clock", key)).toEqual({ now: "2026-11-20T10:30:00.000Z" });
  expect((await get(`/v1/disbursements/${other}`, key)).status).toBe("success");
  expect((await get("/sandbox/deliveries", key)).items).toHaveLength(1);
});

test("a reset during an advance leaves the clock at the time it returned", async () => {
  receiver.respondWith(500);
  await payout({ phoneNumber: "2257038102001" });
  const [, reset] = await Promise.all([advance(6 * 86_400), post("/sandbox/reset")]);
  const real = "2026-11-20T09:30:00.000Z";
  expect([reset, await get("/sandbox/clock")]).toEqual([{ now: real }, { now: real }]);
});
