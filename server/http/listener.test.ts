import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { components } from "../../generated/openapi.ts";
import { hashKey } from "../domain/keys.ts";
import { createKey } from "../domain/merchants.ts";
import { startServer, type TestServer } from "../testing/server.ts";

type Claimed = components["schemas"]["ClaimedDelivery"];

const FORWARD_TO = "http://127.0.0.1:4000/hook";
let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

const send = (path: string, body: object, key = server.key) => server.request("POST", path, { body, key });
const connect = async (name = "ada@laptop") =>
  (await send("/sandbox/listener", { name, url: FORWARD_TO })).body.data as components["schemas"]["ListenerSession"];
const claims = (session: string, changes: object = {}) =>
  send("/sandbox/listener/claims", { session, limit: 10, waitSeconds: 0, holding: [], ...changes });
const claimed = async (session: string, changes?: object) =>
  (await claims(session, changes)).body.data.items as Claimed[];
const report = async ({ id, token }: Pick<Claimed, "id" | "token">, result: object, key?: string) =>
  send("/sandbox/listener/attempts", { id, token, sentMsAgo: 20, latencyMs: 15, ...result }, key);
const disconnect = async (session: string) => (await send("/sandbox/listener/disconnect", { session })).body.data;
const deliveries = async () => (await server.request("GET", "/sandbox/deliveries")).body.data.items;
/** A payout that is final immediately. Returns the service's reference. */
const pay = async (changes = {}) =>
  (await server.createPayout({ phoneNumber: "2257038102001", ...changes })).body.data.reference as string;

test("a listener gets what a receiver would get, and its report is an attempt like any other", async () => {
  const { session } = await connect();
  const reference = await pay();
  const [delivery, ...others] = await claimed(session);
  expect(others).toEqual([]);
  expect(delivery).toMatchObject({ event: "disbursement.completed", reference, attempt: 1 });
  const { secret } = (await server.request("GET", "/sandbox/webhook-secret")).body.data;
  vi.useFakeTimers({ toFake: ["Date"], now: server.clock.now() });
  const verified = new Webhook(secret).verify(delivery!.body, delivery!.headers);
  vi.useRealTimers();
  expect(verified).toMatchObject({ event: "disbursement.completed", data: { reference } });
  expect(delivery!.headers["webhook-id"]).toBe(delivery!.id);

  server.clock.advance(100);
  const recorded = await report(delivery!, { httpStatus: 503, retryAfter: "60", responseBody: "not\0now" });
  expect(recorded.body.data).toEqual({
    counted: true,
    status: "pending",
    nextAttemptAt: "2026-11-20T09:31:00.095Z",
  });
  expect(await deliveries()).toEqual([
    {
      id: delivery!.id,
      event: "disbursement.completed",
      reference,
      url: FORWARD_TO,
      status: "pending",
      createdAt: "2026-11-20T09:30:00.000Z",
      nextAttemptAt: "2026-11-20T09:31:00.095Z",
      attempts: [
        {
          number: 1,
          at: "2026-11-20T09:30:00.080Z",
          sentAt: "2026-11-20T09:30:00.080Z",
          latencyMs: 15,
          httpStatus: 503,
          responseBody: "not\uFFFDnow",
          error: "The receiver returned 503.",
        },
      ],
    },
  ]);
  expect((await report(delivery!, { httpStatus: 204 })).body.data.counted).toBe(false);
  expect((await deliveries())[0].attempts).toHaveLength(1);

  await server.pass(60_000);
  const [again] = await claimed(session);
  expect(again).toMatchObject({ id: delivery!.id, attempt: 2, body: delivery!.body });
  expect(again!.headers["webhook-timestamp"]).not.toBe(delivery!.headers["webhook-timestamp"]);
  expect((await report(again!, { httpStatus: 204 })).body.data).toEqual({ counted: true, status: "delivered" });
});

test.each([
  [{ error: "Nothing listens there." }, "Nothing listens there."],
  [{}, "The receiver did not respond."],
])("an attempt without a response fails: %j", async (result, error) => {
  const { session } = await connect();
  await pay();
  await report((await claimed(session))[0]!, result);
  expect((await deliveries())[0].attempts).toMatchObject([{ number: 1, error }]);
});

test("the schedule runs through the listener when the clock moves, each attempt at its own time", async () => {
  const { session } = await connect();
  await pay();
  const attempts: string[] = [];
  let isMoved = false;
  const listening = (async () => {
    while (!isMoved) {
      for (const delivery of await claimed(session)) {
        await report(delivery, { httpStatus: 500, sentMsAgo: 0, latencyMs: 0 });
        attempts.push(delivery.headers["webhook-signature"]!);
      }
      // The move waits in the server's time, which stands still in this test.
      server.clock.advance(10);
    }
  })();
  await send("/sandbox/clock/advance", { seconds: 4 * 86_400 });
  isMoved = true;
  await listening;
  expect(attempts).toHaveLength(10);
  const [delivery] = await deliveries();
  expect(delivery).toMatchObject({ status: "exhausted", attempts: { length: 10 } });
  const days = delivery.attempts.map(({ at }: { at: string }) =>
    Math.floor((Date.parse(at) - Date.UTC(2026, 10, 20)) / 864e5),
  );
  expect(new Set(days).size).toBeGreaterThan(2);
});

test("a move of the clock does not wait for a listener that has gone", async () => {
  await connect();
  await pay();
  server.clock.advance(15_000);
  expect((await send("/sandbox/clock/advance", { seconds: 3_600 })).status).toBe(200);
  expect(await deliveries()).toMatchObject([{ status: "pending", attempts: [] }]);
});

/** Lets time pass until a request has its response. */
const settled = async <T>(promise: Promise<T>): Promise<T> => {
  let result: { value: T } | undefined;
  void promise.then((value) => (result = { value }));
  while (!result) {
    server.clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return result.value;
};

test("a search waits for a delivery, and ends when the time is up or another begins", async () => {
  const { session } = await connect();
  const waits = (seconds: number) => claimed(session, { waitSeconds: seconds });
  expect(await settled(waits(1))).toEqual([]);
  const first = waits(10);
  const second = waits(10);
  await pay();
  const found = await settled(Promise.all([first, second]));
  expect(found.map(({ length }) => length).toSorted()).toEqual([0, 1]);
});

test("a second listener takes over and says from whom; the first is refused", async () => {
  expect(await connect("ada@laptop")).toEqual({ session: expect.any(String) });
  const [{ session: first }, { session: second, replaced }] = [
    await connect("bola@desktop"),
    await connect("ada@home"),
  ];
  expect(replaced).toBe("bola@desktop");
  const refused = await claims(first);
  expect([refused.status, refused.body.code]).toEqual([409, "listener_replaced"]);
  expect(await disconnect(first)).toEqual({ disconnected: false });
  expect(await disconnect(second)).toEqual({ disconnected: true });
});

test("names the default address, which gets no events meanwhile", async () => {
  await server.storage.setDefaultWebhook(server.merchant.id, "https://default.example/", "server app@host");
  expect((await connect()).defaultWebhookURL).toBe("https://default.example/");
  await pay();
  expect(await deliveries()).toMatchObject([{ url: FORWARD_TO }]);
});

test("a replay makes the delivery due for the listener", async () => {
  const { session } = await connect();
  await pay();
  const [delivery] = await claimed(session);
  await report(delivery!, { httpStatus: 204 });
  const replay = () => server.request("POST", `/sandbox/deliveries/${delivery!.id}/replay`);
  expect((await replay()).body.data).toMatchObject({ status: "pending", attempts: { length: 1 } });
  expect(await claimed(session)).toMatchObject([{ id: delivery!.id, attempt: 1 }]);
  expect((await replay()).status).toBe(409);
});

test("a report of a delivery that is not the listener's is refused", async () => {
  const { session } = await connect();
  await pay({ webhookURL: "http://127.0.0.1:1/" });
  await pay();
  const [mine] = await claimed(session);
  const other = (await deliveries()).find(({ url }: { url: string }) => url !== FORWARD_TO);
  const { key } = await server.addMerchant("Kofi & Sons");
  const responses = [
    await report({ id: "msg_nothing", token: 1 }, { httpStatus: 204 }),
    await report({ id: other.id, token: 1 }, { httpStatus: 204 }),
    await report(mine!, { httpStatus: 204 }, key),
  ];
  expect(responses.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect((await report(mine!, { httpStatus: 204 })).body.data).toEqual({ counted: true, status: "delivered" });
});

test("a waiting listener whose key is revoked gets no further webhook, and another key's listener gets it", async () => {
  const { merchants, storage, merchant } = server;
  const leaked = await createKey({ ...merchants, storage }, merchant.id);
  const { session } = (await send("/sandbox/listener", { name: "eve", url: FORWARD_TO }, leaked)).body.data;
  const looks = vi.spyOn(storage, "claimForListener");
  const waiting = send("/sandbox/listener/claims", { session, limit: 10, waitSeconds: 10, holding: [] }, leaked);
  await expect.poll(() => looks).toHaveBeenCalled();
  const id = (await storage.findKey(hashKey(leaked)))!.id;
  await storage.revokeKey(id, server.clock.now(), "command ada@host");
  await pay();
  const refused = await settled(waiting);
  expect(refused.body).toMatchObject({ code: "listener_replaced" });
  const again = { session, limit: 1, waitSeconds: 0, holding: [] };
  expect((await send("/sandbox/listener/claims", again, leaked)).status).toBe(401);

  const mine = await connect();
  expect(mine).not.toHaveProperty("replaced");
  await pay();
  expect(await claimed(mine.session)).toHaveLength(1);
});

test("invalid requests are refused", async () => {
  for (const [path, body, status, field] of INVALID) {
    const refused = await send(path, body);
    expect.soft([path, refused.status]).toEqual([path, status]);
    expect.soft(refused.body.fields).toMatchObject([{ path: field }]);
  }
});
const INVALID: [path: string, body: object, status: number, field: string][] = [
  ["/sandbox/listener", { name: "ada", url: "ftp://127.0.0.1/" }, 422, "url"],
  ["/sandbox/listener", { name: "", url: FORWARD_TO }, 422, "name"],
  ["/sandbox/listener/claims", { session: "x", limit: 101, waitSeconds: 0, holding: [] }, 422, "limit"],
  ["/sandbox/listener/claims", { session: "x", limit: 1, waitSeconds: 11, holding: [] }, 422, "waitSeconds"],
  ["/sandbox/listener/attempts", { id: "x", token: 1, sentMsAgo: -1, latencyMs: 0 }, 422, "sentMsAgo"],
  ["/sandbox/listener/disconnect", {}, 400, "session"],
];

test("the chaos switch loses attempts of a listener too", async () => {
  const { session } = await connect();
  await server.request("PUT", "/sandbox/chaos", { body: { lostWebhooksPercent: 100 } });
  await pay();
  expect(await claimed(session)).toEqual([]);
  expect(await deliveries()).toMatchObject([
    { status: "pending", attempts: [{ number: 1, error: "Lost by the chaos switch." }] },
  ]);
});

test("a stop ends a search that waits", async () => {
  const { session } = await connect();
  const waiting = claimed(session, { waitSeconds: 10 });
  await new Promise((resolve) => setImmediate(resolve));
  server.service.release();
  expect(await waiting).toEqual([]);
});
