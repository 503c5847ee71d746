// What the paths under /sandbox do, and what exists only in a sandbox.
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import { NO_CHAOS, FORCED_OUTCOMES, type Chaos } from "../domain/outcomes.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { aPayout, type TestServer } from "../testing/server.ts";
import { start } from "../testing/table.ts";

let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  [server, receiver] = await Promise.all([start(), startReceiver()]);
  onTestFinished(() => receiver.close());
});

const get = async (path: string, key = server.key) => (await server.request("GET", path, { key })).body.data;
const post = (path: string, body?: unknown) => server.request("POST", path, { body });
const advance = (seconds: number) => post("/sandbox/clock/advance", { seconds });
const payout = (...[changes, sent]: Parameters<TestServer["createPayout"]>) =>
  server.createPayout({ webhookURL: receiver.url, ...changes }, sent);
const EVERY_CHAOS = Object.fromEntries(Object.keys(NO_CHAOS).map((name) => [name, 100])) as Chaos;
const number = (ending: string) => `2257038102${ending}`;
const recorded = async () =>
  (await server.storage.listDisbursements({ merchantId: server.merchant.id, limit: 100 })).items;

test("outside the sandbox its paths return 404, with or without a key, and what a sandbox stored does nothing", async () => {
  const env = { SANDBOX: "false", WEBHOOK_ALLOW_INSECURE: "true", WEBHOOK_ALLOW_PRIVATE: "true" };
  const live = await start({ env });
  for (const [template, item] of Object.entries(openapi.paths).filter(([path]) => path.startsWith("/sandbox/"))) {
    const path = template.replaceAll(/\{\w+\}/g, "nothing");
    for (const method of [...Object.keys(item), "delete", "options"])
      for (const key of [live.key, null])
        expect.soft((await live.request(method.toUpperCase(), path, { key })).status, path).toBe(404);
  }
  const all = { ...EVERY_CHAOS, latencyMs: 9_999 };
  await live.storage.setChaos(live.merchant.id, all, "command ada@host");
  const endings = Object.keys(FORCED_OUTCOMES);
  for (const ending of endings) {
    const { status, body } = await live.createPayout({ phoneNumber: number(ending), webhookURL: receiver.url });
    expect.soft([status, body.data.status], ending).toEqual([200, "pending"]);
  }
  await live.pass(2_000);
  expect(receiver.received.map(({ body }) => (body as { event: string }).event)).toEqual(
    endings.map(() => "disbursement.completed"),
  );
});

test("what a key changes is in the audit trail with the key, and what is refused is not", async () => {
  await payout({ phoneNumber: number("001") });
  await server.pass(0);
  const [delivery] = (await get("/sandbox/deliveries")).items;
  await advance(60);
  await advance(1e9);
  await get("/sandbox/webhook-secret");
  await post("/sandbox/webhook-secret/rotate");
  await server.request("PUT", "/sandbox/chaos", { body: { latencyMs: 5 } });
  await post(`/sandbox/deliveries/${delivery.id}/replay`);
  await post("/sandbox/reset");
  const names = ["sandbox.reset", "delivery.replay", "sandbox.chaos", "secret.rotate", "sandbox.advance"];
  const actor = `key ${(await server.storage.listKeys())[0]!.id}`;
  const { items } = await server.storage.listAudit({ limit: 7, merchantId: server.merchant.id });
  const ofKeys = items.filter((entry) => entry.actor.startsWith("key "));
  expect(ofKeys.map((entry) => [entry.action, entry.actor])).toEqual(names.map((name) => [name, actor]));
});

test("nothing can be read until a reset has deleted everything, so that nobody sees a part", async () => {
  const { findMerchantByKey } = server.storage;
  server.storage.findMerchantByKey = async (hash) => {
    const owner = (await findMerchantByKey(hash))!;
    return { ...owner, merchant: { ...owner.merchant, isResetting: true } };
  };
  const { status, body, headers } = await server.request("GET", "/v1/disbursements?limit=1");
  expect([status, body.code, headers["retry-after"]]).toEqual([503, "unavailable", "1"]);
});

test("a statement has every change of its merchant with the balance after it, as JSON and CSV, of a period (D87)", async () => {
  const items = async (path: string, key?: string) => (await get(path, key)).items;
  const body = { currency: "XOF", available: 10_100, enforced: true };
  expect((await server.request("PUT", "/sandbox/balance", { body })).status).toBe(200);
  await payout({ amount: 10_000 });
  expect(await items("/v1/balances")).toEqual([{ currency: "XOF", available: 0, reserved: 10_100, enforced: true }]);
  await server.pass(2_000);
  const changes = await items("/v1/statements");
  expect(changes.map(({ kind, amount, balance }: Record<string, unknown>) => [kind, amount, balance])).toEqual([
    ["capture", 0, 0],
    ["reserve", -10_100, 0],
    ["top-up", 10_100, 10_100],
  ]);
  const rows = async (path: string) => {
    const response = await fetch(server.url + path, { headers: { "x-api-key": server.key } });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    return { lines: (await response.text()).split("\r\n"), link: response.headers.get("link") };
  };
  const first = await rows("/v1/statements?format=csv&limit=2");
  expect(first.lines[0]).toBe("createdAt,kind,reference,currency,amount,balance");
  expect(first.lines[2]).toBe(`2026-11-20T09:30:00.000Z,reserve,${changes[1].reference},XOF,-10100,0`);
  const second = await rows(/^<(.+)>; rel="next"$/.exec(first.link!)![1]!);
  const last = [first.lines[0], expect.stringMatching(/,top-up,.+,10100,10100$/), ""];
  expect(second).toEqual({ lines: last, link: null });
  expect(await items("/v1/statements?from=2026-11-20T09:30:00.001Z")).toEqual(changes.slice(0, 1));
  expect(await items("/v1/statements?to=2026-11-20T09:30:00.001Z")).toEqual(changes.slice(1));
  const { key } = await server.addMerchant("Other");
  for (const path of ["/v1/balances", "/v1/statements"]) expect(await items(path, key)).toEqual([]);
});

describe("merchants for tests (D112)", () => {
  const create = (body: object = {}) => server.request("POST", "/sandbox/merchants", { body });

  test("leave no secret, and when their creator has deleted them, no record", async () => {
    const { id, apiKey: key, webhookSecret } = (await create({ name: "Kofi & Söhne 🧵" })).body.data;
    await payout({}, { key });
    const audit = await server.storage.listAudit({ limit: 9, merchantId: id });
    const written = JSON.stringify([audit, await server.storage.listKeysOf(id), server.logged()]);
    for (const secret of [key, webhookSecret]) expect(written).not.toContain(secret);
    expect((await server.request("DELETE", `/sandbox/merchants/${server.merchant.id}`)).status).toBe(404);
    expect((await server.request("DELETE", `/sandbox/merchants/${id}`)).body.data).toEqual({ id });
    expect((await server.storage.listDisbursements({ merchantId: id, limit: 9 })).items).toEqual([]);
    expect((await server.storage.findMerchant(id))!.state).toBe("closed");
  });

  test("need a valid name, and are at most 1,000 an hour", async () => {
    for (const name of ["", " ", "a\u200bb", "x".repeat(101)])
      expect(await create({ name })).toMatchObject({ status: 422, body: { fields: [{ path: "name" }] } });
    server.clock.advance(3_600_000);
    for (let made = 0; made < 1_000; made += 1) expect((await create()).status).toBe(200);
    server.clock.advance(600_000);
    expect(await create()).toMatchObject({ status: 429, headers: { "retry-after": "3000" } });
  });
});

describe("payments of the past (D112)", () => {
  const load = (body: object) => post("/sandbox/payments", body);
  const MAY = { createdAt: "2026-05-01T08:00:00.000Z", updatedAt: "2026-05-01T08:00:02.000Z" };
  const inMay = (changes: object = {}) => ({ ...aPayout(), status: "success", ...MAY, ...changes });

  test("stand among the others by their times, without events; pending ones wait to be finished", async () => {
    await payout({ phoneNumber: number("001") });
    const { reference: _, ...order } = aPayout({ phoneNumber: number("473") });
    const waiting = { ...order, status: "pending", createdAt: "2026-04-01T08:00:00.000Z", note: "undeclared" };
    await load({ disbursements: [inMay({ reference: "may-1", phoneNumber: number("001") })], checkouts: [waiting] });
    await advance(40 * 86_400);
    expect((await get("/v1/disbursements")).items).toMatchObject([{}, { merchantsReference: "may-1", fee: 100 }]);
    const [checkout] = (await get("/v1/checkouts")).items;
    expect(checkout).toMatchObject({ status: "pending", customer: { phoneNumber: number("473") } });
    expect(checkout).not.toHaveProperty("note");
    await post(`/sandbox/checkouts/${checkout.reference}/finish`, { outcome: "cancelled" });
    expect((await get("/sandbox/events")).items).toMatchObject([{ reference: checkout.reference }, {}]);
  });

  test("are loaded all or not at all: errors name the first wrong fields, or the record that exists", async () => {
    const known = inMay();
    const rows: [object, number, path: string | undefined, says: string][] = [
      [inMay({ amount: "1" }), 400, "amount", "disbursements.1.amount must be integer"],
      [inMay({ createdAt: "1999-12-31T00:00:00.000Z" }), 422, "createdAt", "from the year 2000 on"],
      [inMay({ updatedAt: "2026-11-20T09:30:00.001Z" }), 422, "updatedAt", "later than 2026-11-20T09:30:00.000Z"],
      [inMay({ note: "x".repeat(2 ** 20) }), 413, undefined, "must not exceed 1048576 bytes"],
    ];
    for (const [row, status, path, says] of rows) {
      const refused = await load({ disbursements: [known, row] });
      expect.soft([refused.status, refused.body.fields?.[0].path.slice(16)], says).toEqual([status, path]);
      expect.soft(refused.body.message).toContain(says);
    }
    const many = (count: number, row: () => object) => load({ disbursements: Array.from({ length: count }, row) });
    expect((await many(1_001, inMay)).status).toBe(422);
    const { fields, message } = (await many(1_000, () => ({}))).body;
    expect([fields.length, message]).toEqual([20, expect.stringMatching(/; and 6980 more faults\.$/)]);
    expect(await recorded()).toEqual([]);
    expect((await many(1_000, inMay)).status).toBe(200);
    expect((await load({ disbursements: [known] })).status).toBe(200);
    const [{ reference }] = (await get(`/v1/disbursements?merchantsReference=${known.reference}`)).items;
    const { status, headers } = await load({ disbursements: [inMay(), known] });
    expect([status, headers.location]).toEqual([409, `/v1/disbursements/${reference}`]);
  });
});

describe("the chaos switch (D17)", () => {
  const set = (settings: Partial<Chaos>) => server.request("PUT", "/sandbox/chaos", { body: settings });

  test("is set as a whole: what is left out becomes 0", async () => {
    await set({ latencyMs: 5, lostWebhooksPercent: 5 });
    const changed = await set({ latencyMs: 6, unknown: 7 } as Partial<Chaos>);
    expect(changed.body.data).toEqual({ ...NO_CHAOS, latencyMs: 6 });
    expect((await set({})).body.data).toEqual(NO_CHAOS);
  });

  test("fails requests with 500 before anything is recorded; others' requests and /sandbox are spared", async () => {
    const { key } = await server.addMerchant("Other");
    await set({ failedRequestsPercent: 100 });
    expect(await server.createPayout()).toMatchObject({ status: 500, body: { code: "internal_error" } });
    expect((await server.createCheckout()).status).toBe(500);
    expect((await server.request("GET", "/v1/disbursements/DSB0")).status).toBe(500);
    expect(await recorded()).toEqual([]);
    expect((await server.createPayout({}, { key })).status).toBe(200);
    expect((await server.request("GET", "/sandbox/clock")).status).toBe(200);
  });

  test("loses the response of a payment that is recorded once, so a retry gets 409", async () => {
    const lost = aPayout();
    await set({ lostResponsesPercent: 100 });
    await expect(server.createPayout(lost)).rejects.toThrow("socket hang up");
    const again = await server.createPayout(lost);
    expect(again.status).toBe(409);
    await set({});
    expect((await server.request("GET", again.headers.location!)).status).toBe(200);
    expect(await recorded()).toHaveLength(1);
  });

  test("delays requests, in real time", async () => {
    const waiting = vi.spyOn(server.clock, "sleep");
    await set({ latencyMs: 3_000 });
    const response = server.createPayout();
    await expect.poll(() => waiting.mock.calls.map(([milliseconds]) => milliseconds)).toContain(3_000);
    server.clock.advance(2_999);
    expect(await recorded()).toEqual([]);
    server.clock.advance(1);
    expect((await response).status).toBe(200);
    expect(await recorded()).toHaveLength(1);
  });

  test("loses webhooks: the attempt has failed, and a later one delivers it", async () => {
    const delivery = async () => (await get("/sandbox/deliveries")).items[0];
    await set({ lostWebhooksPercent: 100 });
    await payout({ phoneNumber: number("001") });
    await server.pass(0);
    expect(await delivery()).toMatchObject({
      status: "pending",
      attempts: [{ error: "Lost by the chaos switch.", latencyMs: 0 }],
      nextAttemptAt: expect.any(String),
    });
    expect(receiver.received).toEqual([]);
    await set({});
    await server.pass(6_000);
    expect(await delivery()).toMatchObject({ status: "delivered", attempts: [{ number: 1 }, { httpStatus: 204 }] });
    expect(receiver.received).toHaveLength(1);
  });

  const sent = () => receiver.received.map(({ headers }) => headers["webhook-id"]);
  const ids = async () => (await get("/sandbox/events")).items.map(({ id }: { id: string }) => id).toReversed();
  /** Makes payouts that are final at once, and waits for so many webhooks. */
  async function finalPayouts(count: number, received: number) {
    for (let made = 0; made < count; made += 1) {
      await payout({ phoneNumber: number("001") });
      await server.pass(0);
    }
    await receiver.until(received);
    await server.service.deliveries.idle();
  }

  test("repeats a webhook once, but not a replay, which is a repetition already", async () => {
    await set({ repeatedWebhooksPercent: 100 });
    await finalPayouts(1, 2);
    const [id] = await ids();
    await post(`/sandbox/deliveries/${id}/replay`);
    expect(sent()).toEqual([id, id, id]);
  });

  test("holds a webhook back until a later one has overtaken it, or until its next attempt", async () => {
    await set({ reorderedWebhooksPercent: 100 });
    await finalPayouts(1, 0);
    const [delivery] = (await get("/sandbox/deliveries")).items;
    const attempts = [{ error: "Held back by the chaos switch.", latencyMs: 0 }];
    expect(delivery).toMatchObject({ status: "pending", attempts, nextAttemptAt: expect.any(String) });
    await finalPayouts(1, 2);
    await finalPayouts(2, 4);
    const [a, b, c, d] = await ids();
    expect(sent()).toEqual([b, a, d, c]);
    await finalPayouts(1, 4);
    await server.pass(6_000);
    await receiver.until(5);
  });

  test("strikes a share of requests and spares others", async () => {
    await set({ failedRequestsPercent: 50 });
    const responses = await Promise.all(Array.from({ length: 40 }, () => server.createPayout()));
    const { accepted = [], failed = [] } = Object.groupBy(responses, (each) =>
      each.status === 200 ? "accepted" : "failed",
    );
    for (const some of [accepted, failed]) expect(some.length).toBeGreaterThan(5);
    expect(await recorded()).toHaveLength(accepted.length);
  });
});

describe("forced outcomes (D17), as far as the conformance suite does not show them", () => {
  test("503: a refused request does not count as an attempt; a settle delay of zero is valid", async () => {
    const own = await start({ env: { SETTLE_DELAY_MS: "0" } });
    const busy = aPayout({ phoneNumber: number("503") });
    for (const country of ["ci", "1", ""]) expect((await own.createPayout({ ...busy, country })).status).toBe(422);
    for (const status of [503, 503, 200]) expect((await own.createPayout(busy)).status).toBe(status);
    await own.pass(0);
    expect((await own.request("GET", "/v1/disbursements")).body.data.items).toMatchObject([{ status: "success" }]);
  });

  test("408: the payout is recorded at once, and the response comes after 30 s of real time", async () => {
    const late = aPayout({ phoneNumber: number("408") });
    let responded = false;
    const response = server.createPayout(late).finally(() => (responded = true));
    let again = await server.createPayout({ ...late, amount: 0 });
    while (again.status !== 409) again = await server.createPayout({ ...late, phoneNumber: number("500") });
    await advance(3_600);
    server.clock.advance(29_999);
    expect((await server.request("GET", again.headers.location!)).body.data.status).toBe("success");
    expect(responded).toBe(false);
    server.clock.advance(1);
    expect((await response).body.data).toMatchObject({ merchantsReference: late.reference, status: "pending" });
  });
});
