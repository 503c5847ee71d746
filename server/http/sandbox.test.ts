import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
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

describe("the clock", () => {
  test("moves up to a time, once however often it is asked, and never back", async () => {
    const to = "2026-11-20T10:30:00.000Z";
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await post("/sandbox/clock/advance", { to })).toEqual({ now: to });
    }
    expect(await post("/sandbox/clock/advance", { to: "2026-11-20T09:00:00.000Z" })).toEqual({ now: to });
    server.clock.advance(1_000);
    expect(await post("/sandbox/clock/advance", { to })).toEqual({ now: "2026-11-20T10:30:01.000Z" });
  });

  test("equals real time until it is advanced, and continues from there", async () => {
    expect(await get("/sandbox/clock")).toEqual({ now: "2026-11-20T09:30:00.000Z" });
    expect(await advance(90)).toEqual({ now: "2026-11-20T09:31:30.000Z" });
    server.clock.advance(500);
    expect(await get("/sandbox/clock")).toEqual({ now: "2026-11-20T09:31:30.500Z" });
    expect(await advance(0)).toEqual({ now: "2026-11-20T09:31:30.500Z" });
    server.clock.advance(500);
    expect(await advance(31_535_910)).toEqual({ now: "2027-11-20T09:30:01.000Z" });
  });

  test("is at most a year ahead of real time, by one move or the sum of several, by a period or to a time", async () => {
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

  test("moves only for the merchant that advances it", async () => {
    const { key } = await server.addMerchant("Kofi & Sons");
    const [mine, other] = [await payout(), await payout({}, key)];
    await advance(3_600);
    expect(await get("/sandbox/clock", key)).toEqual({ now: "2026-11-20T09:30:00.000Z" });
    expect((await get(`/v1/disbursements/${mine}`)).status).toBe("success");
    expect((await get(`/v1/disbursements/${other}`, key)).status).toBe("pending");
    expect(receiver.received.map(({ body }) => body.data.reference)).toEqual([mine]);
  });

  test("dates records, while signatures carry real time (D12)", async () => {
    await advance(86_400);
    const reference = await payout({ phoneNumber: "2257038102001" });
    await advance(0);
    expect((await get(`/v1/disbursements/${reference}`)).createdAt).toBe("2026-11-21T09:30:00.000Z");
    expect(receiver.received[0]!.headers["webhook-timestamp"]).toBe(String(server.clock.now() / 1_000));
    const [delivery] = (await get("/sandbox/deliveries")).items;
    expect(delivery.attempts).toMatchObject([{ at: "2026-11-21T09:30:00.000Z", sentAt: "2026-11-20T09:30:00.000Z" }]);
  });

  test("adds up concurrent advances and processes each record once", async () => {
    const references = await Promise.all(Array.from({ length: 10 }, () => payout()));
    await Promise.all(Array.from({ length: 5 }, () => advance(60)));
    expect(await get("/sandbox/clock")).toEqual({ now: "2026-11-20T09:35:00.000Z" });
    expect(receiver.received.map(({ body }) => body.data.reference).toSorted()).toEqual(references.toSorted());
  });

  test("cannot be moved backwards, or by more than a year", async () => {
    for (const seconds of [-1, 31_536_001]) {
      const response = await server.request("POST", "/sandbox/clock/advance", { body: { seconds } });
      expect(response.status).toBe(422);
    }
    expect(await get("/sandbox/clock")).toEqual({ now: "2026-11-20T09:30:00.000Z" });
  });
});

describe("webhooks", () => {
  test("carry the record as verify returns it, with a signature that the npm package accepts", async () => {
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

  test("are sent immediately for a record that is final immediately", async () => {
    const payoutReference = await payout({ phoneNumber: "2257038102001" });
    await receiver.until(1);
    const { reference: checkout } = (await server.createCheckout({ webhookURL: receiver.url })).body.data;
    await post(`/sandbox/checkouts/${checkout}/finish`, { outcome: "success" });
    await receiver.until(2);
    expect(receiver.received.map(({ body }) => body.data.reference)).toEqual([payoutReference, checkout]);
  });

  test("are signed with both secrets for a day of sandbox time after a rotation", async () => {
    const before = await get("/sandbox/webhook-secret");
    expect(before).toEqual({ secret: expect.stringMatching(/^whsec_/), previousSecrets: [] });
    const rotated = await post("/sandbox/webhook-secret/rotate");
    expect(rotated).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      previousSecrets: [{ secret: before.secret, expiresAt: "2026-11-21T09:30:00.000Z" }],
    });
    expect(rotated.secret).not.toBe(before.secret);
    expect(await get("/sandbox/webhook-secret")).toEqual(rotated);

    await payout({ phoneNumber: "2257038102001" });
    await advance(86_399);
    const [during] = receiver.received;
    expect(verified(during!, before.secret)).toEqual(during!.body);
    expect(verified(during!, rotated.secret)).toEqual(during!.body);

    await advance(1);
    expect(await get("/sandbox/webhook-secret")).toEqual({ secret: rotated.secret, previousSecrets: [] });
    await payout({ phoneNumber: "2257038102001" });
    await advance(1);
    const after = receiver.received.at(-1)!;
    expect(verified(after, rotated.secret)).toEqual(after.body);
    expect(() => verified(after, before.secret)).toThrow("No matching signature found");
  });

  test("are signed with every secret of several rotations within a day, each until its own expiry (D12)", async () => {
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

  test("are signed with at most five previous secrets, the newest ones (D12)", async () => {
    const secrets = [(await get("/sandbox/webhook-secret")).secret];
    for (let rotation = 0; rotation < 6; rotation += 1) {
      secrets.unshift((await post("/sandbox/webhook-secret/rotate")).secret);
    }
    await payout({ phoneNumber: "2257038102001" });
    await advance(0);
    const [webhook] = receiver.received;
    expect(String(webhook!.headers["webhook-signature"]).split(" ")).toHaveLength(6);
    for (const secret of secrets.slice(0, 6)) expect(verified(webhook!, secret)).toEqual(webhook!.body);
    expect(() => verified(webhook!, secrets[6])).toThrow("No matching signature found");
  });

  test("are signed with a separate secret for each merchant", async () => {
    const { key } = await server.addMerchant("Kofi & Sons");
    const [own, other] = [await get("/sandbox/webhook-secret"), await get("/sandbox/webhook-secret", key)];
    expect(own.secret).not.toBe(other.secret);
    await post("/sandbox/webhook-secret/rotate", undefined, key);
    expect(await get("/sandbox/webhook-secret")).toEqual(own);
  });
});

describe("a checkout can be finished without a browser", () => {
  test.each([
    ["success", "checkout.completed"],
    ["failed", "checkout.failed"],
    ["cancelled", "checkout.cancelled"],
  ])("as %s, once, with its webhook", async (outcome, event) => {
    const { reference } = (await server.createCheckout({ webhookURL: receiver.url })).body.data;
    const path = `/sandbox/checkouts/${reference}/finish`;
    server.clock.advance(60_000);
    const finished = await post(path, { outcome });
    expect(finished).toMatchObject({ reference, status: outcome, updatedAt: "2026-11-20T09:31:00.000Z" });
    expect(await get(`/v1/checkouts/${reference}`)).toEqual(finished);
    await advance(0);
    expect(receiver.received.map(({ body }) => body)).toEqual([{ event, data: finished }]);

    const again = await server.request("POST", path, { body: { outcome: "success" } });
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining(`status ${outcome}`)]);
    await advance(86_400);
    expect(await get(`/v1/checkouts/${reference}`)).toEqual(finished);
  });
});

describe("a reset", () => {
  test("deletes the merchant's records and restores real time; key, secret and other merchants are unchanged", async () => {
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
});

test("a reset during an advance leaves the clock at the time it returned", async () => {
  receiver.respondWith(500);
  await payout({ phoneNumber: "2257038102001" });
  const [, reset] = await Promise.all([advance(6 * 86_400), post("/sandbox/reset")]);
  const real = "2026-11-20T09:30:00.000Z";
  expect([reset, await get("/sandbox/clock")]).toEqual([{ now: real }, { now: real }]);
});

describe("lists", () => {
  test("return the newest first in pages of 20 by default, without gaps", async () => {
    const references = [];
    for (let index = 0; index < 25; index += 1) references.unshift(await payout({ phoneNumber: "2257038102001" }));
    await advance(0);
    for (const list of ["events", "deliveries"]) {
      const listed = async (query: string) => {
        const page = await get(`/sandbox/${list}?${query}`);
        return {
          references: page.items.map(({ reference }: { reference: string }) => reference),
          next: page.nextCursor,
        };
      };
      const first = await listed("");
      expect(first.references).toEqual(references.slice(0, 20));
      expect(await listed(`cursor=${first.next}`)).toEqual({ references: references.slice(20), next: undefined });
      expect((await listed("limit=100")).references).toEqual(references);
      expect(await listed("limit=25")).toEqual({ references, next: undefined });
      expect((await listed("limit=1")).references).toEqual(references.slice(0, 1));
      expect((await listed(`reference=${references[7]}`)).references).toEqual([references[7]]);
      expect((await server.request("GET", `/sandbox/${list}?cursor=nothing`)).status).toBe(422);
    }
  });

  test("filter deliveries by status; an event without a webhookURL has no delivery", async () => {
    const [delivered, plain] = [
      await payout({ phoneNumber: "2257038102001" }),
      (await server.createPayout({ phoneNumber: "2257038102002" })).body.data.reference,
    ];
    await advance(0);
    receiver.respondWith(410);
    const ended = await payout({ phoneNumber: "2257038102001" });
    await advance(0);
    receiver.respondWith(500);
    const pending = await payout({ phoneNumber: "2257038102001" });
    await advance(0);
    const ofStatus = async (status: string) =>
      (await get(`/sandbox/deliveries?status=${status}`)).items.map((one: { reference: string }) => one.reference);
    expect([await ofStatus("delivered"), await ofStatus("ended")]).toEqual([[delivered], [ended]]);
    expect([await ofStatus("pending"), await ofStatus("exhausted")]).toEqual([[pending], []]);
    const { items: events } = await get(`/sandbox/events?reference=${plain}`);
    expect(events).toMatchObject([{ body: { event: "disbursement.failed" } }]);
    expect((await server.request("POST", `/sandbox/deliveries/${events[0].id}/replay`)).status).toBe(404);
  });
});
