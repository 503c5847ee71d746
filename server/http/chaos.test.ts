import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { NO_CHAOS, type Chaos } from "../domain/chaos.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver()]);
});
afterAll(() => Promise.all([server.close(), receiver.close()]));

let merchantId: string;
let key: string;
beforeEach(async () => {
  const { merchant, key: created } = await server.addMerchant("Chaos");
  [merchantId, key] = [merchant.id, created];
  receiver.received.length = 0;
});

const request = (method: string, path: string, body?: unknown) => server.request(method, path, { key, body });
const set = (settings: Partial<Chaos>) => request("PUT", "/sandbox/chaos", settings);
const read = async () => (await request("GET", "/sandbox/chaos")).body.data;
const create = (changes: Parameters<TestServer["createPayout"]>[0] = {}) => server.createPayout(changes, { key });
const delivery = async () => (await request("GET", "/sandbox/deliveries")).body.data.items[0];
const recorded = async () => (await server.storage.listDisbursements({ merchantId, limit: 100 })).items;

describe("the switch", () => {
  test("is off at first, keeps what was set, and a reset switches it off", async () => {
    expect(await read()).toEqual(NO_CHAOS);
    const settings = { latencyMs: 10_000, failedRequestsPercent: 1, lostResponsesPercent: 2, lostWebhooksPercent: 100 };
    expect((await set(settings)).body.data).toEqual(settings);
    expect(await read()).toEqual(settings);
    await request("POST", "/sandbox/reset");
    expect(await read()).toEqual(NO_CHAOS);
  });

  test("is set as a whole: what is left out becomes 0", async () => {
    await set({ latencyMs: 5, lostWebhooksPercent: 5 });
    expect((await set({ latencyMs: 6, unknown: 7 } as Partial<Chaos>)).body.data).toEqual({
      ...NO_CHAOS,
      latencyMs: 6,
    });
    expect((await set({})).body.data).toEqual(NO_CHAOS);
    const { items } = await server.storage.listAudit({ merchantId, limit: 3 });
    expect(items.map(({ action, details }) => ({ action, details }))).toEqual([
      { action: "sandbox.chaos", details: { chaos: "off" } },
      { action: "sandbox.chaos", details: { latencyMs: "6" } },
      { action: "sandbox.chaos", details: { latencyMs: "5", lostWebhooksPercent: "5" } },
    ]);
  });

  test.each([
    [{ latencyMs: 10_001 }, 422],
    [{ latencyMs: -1 }, 422],
    [{ lostResponsesPercent: 101 }, 422],
    [{ failedRequestsPercent: 0.5 }, 400],
    [{ lostWebhooksPercent: "5" }, 400],
  ])("refuses %j with %i", async (body, status) => {
    const response = await request("PUT", "/sandbox/chaos", body);
    expect(response.status).toBe(status);
    expect(response.body.message).toContain(Object.keys(body)[0]);
    expect(await read()).toEqual(NO_CHAOS);
  });
});

describe("while it is on", () => {
  test("failed requests get 500, and nothing is recorded", async () => {
    await set({ failedRequestsPercent: 100 });
    const { status, body } = await create();
    expect([status, body.code]).toEqual([500, "internal_error"]);
    expect((await server.createCheckout({}, { key })).status).toBe(500);
    expect((await request("GET", "/v1/disbursements/DSB0")).status).toBe(500);
    expect(await recorded()).toEqual([]);
  });

  test("a lost response leaves the payment recorded once, so a retry gets 409", async () => {
    const payout = aPayout();
    await set({ lostResponsesPercent: 100 });
    await expect(create(payout)).rejects.toThrow("socket hang up");
    const again = await create(payout);
    expect(again.status).toBe(409);
    await set({});
    expect((await request("GET", again.headers.location!)).status).toBe(200);
    expect(await recorded()).toHaveLength(1);
  });

  test("requests wait, in real time", async () => {
    const waiting = vi.spyOn(server.clock, "sleep");
    await set({ latencyMs: 3_000 });
    const response = create();
    const waits = () => waiting.mock.calls.map(([milliseconds]) => milliseconds);
    await expect.poll(waits).toContain(3_000);
    server.clock.advance(2_999);
    expect(await recorded()).toEqual([]);
    server.clock.advance(1);
    expect((await response).status).toBe(200);
    expect(await recorded()).toHaveLength(1);
  });

  test("a lost webhook is a failed attempt, and a later attempt delivers it", async () => {
    await set({ lostWebhooksPercent: 100 });
    await create({ phoneNumber: "2257038102001", webhookURL: receiver.url });
    await server.pass(0);
    const { status, attempts, nextAttemptAt } = await delivery();
    expect(status).toBe("pending");
    expect(attempts).toMatchObject([{ error: "Lost by the chaos switch.", latencyMs: 0 }]);
    expect(nextAttemptAt).toBeDefined();
    expect(receiver.received).toEqual([]);

    await set({});
    await server.pass(6_000);
    expect(await delivery()).toMatchObject({ status: "delivered", attempts: [{ number: 1 }, { httpStatus: 204 }] });
    expect(receiver.received).toHaveLength(1);
  });

  test("a share strikes some requests and spares others", async () => {
    await set({ failedRequestsPercent: 50 });
    const responses = await Promise.all(Array.from({ length: 40 }, () => create()));
    const accepted = responses.filter(({ status }) => status === 200).length;
    expect(responses.filter(({ status }) => status === 500)).toHaveLength(40 - accepted);
    expect(accepted).toBeGreaterThan(5);
    expect(accepted).toBeLessThan(35);
    await set({});
    expect(await recorded()).toHaveLength(accepted);
  });

  test("other merchants and the paths under /sandbox are spared", async () => {
    await set({ latencyMs: 10_000, failedRequestsPercent: 100, lostResponsesPercent: 100 });
    expect((await server.createPayout()).status).toBe(200);
    for (const path of ["/sandbox/clock", "/sandbox/events", "/sandbox/chaos"]) {
      expect((await request("GET", path)).status).toBe(200);
    }
  });
});

test("outside the sandbox the paths do not exist, and what a sandbox stored does nothing", async () => {
  const live = await startServer({
    env: { SANDBOX: "false", WEBHOOK_ALLOW_INSECURE: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
  });
  expect((await live.request("GET", "/sandbox/chaos")).status).toBe(404);
  expect((await live.request("PUT", "/sandbox/chaos", { body: {} })).status).toBe(404);
  const all = { latencyMs: 9_999, failedRequestsPercent: 100, lostResponsesPercent: 100, lostWebhooksPercent: 100 };
  await live.storage.setChaos(live.merchant.id, all, "command ada@host");
  expect((await live.createPayout({ webhookURL: receiver.url })).status).toBe(200);
  await live.pass(2_000);
  expect(receiver.received).toHaveLength(1);
  await live.close();
});
