// A live service hands payments to rails, and says only what the rails have said (D73, D74).
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../domain/failures.ts";
import { RailError, type RailAnswer } from "../domain/rails.ts";
import { createTestRail, railsOf, type TestRail } from "../testing/rail.ts";
import { signedIn } from "../testing/dashboard-visitor.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { checkedRail } from "./checked-rail.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { startServer, type TestServer } from "../testing/server.ts";

const MINUTE = 60_000;
let rail: TestRail;
let gateway: TestServer;
let receiver: Receiver;

beforeEach(async () => {
  rail = createTestRail();
  receiver = await startReceiver();
  const env = { SANDBOX: "false", WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  gateway = await startServer({ env, rails: railsOf(checkedRail(rail)) });
});
afterEach(async () => {
  await gateway.close();
  await receiver.close();
});

async function pay(changes = {}) {
  const { status, body } = await gateway.createPayout({ webhookURL: receiver.url, ...changes });
  expect([status, body.data.status]).toEqual([200, "pending"]);
  return body.data.reference as string;
}
async function recordOf(reference: string) {
  return (await gateway.request("GET", `/v1/disbursements/${reference}`)).body.data;
}
const handoverOf = async (reference: string) => (await gateway.storage.findHandover(reference))!;
const exchangesOf = (reference: string) => gateway.storage.listExchanges(reference);
const shown = async (reference: string) => {
  const exchanges = await exchangesOf(reference);
  return [(await handoverOf(reference)).state, ...exchanges.map(({ action, result }) => `${action}: ${result}`)];
};
const events = () => receiver.received.map(({ body }) => body.event);

test("a payout is handed over once and ends as the rail says, with its webhook", async () => {
  const reference = await pay();
  await gateway.pass(0);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
  expect(await shown(reference)).toEqual(["closed", "pay: success"]);
  expect(rail.ledger.get(reference)).toMatchObject({ asked: 1, payment: { reference, amount: 10_000 } });
  expect(events()).toEqual(["disbursement.completed"]);
});

test("a payout that the rail refuses is failed, and says why", async () => {
  rail.answers.push({ status: "failed", failure: failureOf("wallet_blocked") });
  const reference = await pay();
  await gateway.pass(0);
  const failure = { code: "wallet_blocked", message: expect.any(String) };
  expect(await recordOf(reference)).toMatchObject({ status: "failed", failure });
  expect(events()).toEqual(["disbursement.failed"]);
});

test("a payout that the rail accepts stays pending until the rail ends it", async () => {
  rail.answers.push({ status: "pending" });
  const reference = await pay();
  await gateway.pass(0);
  expect(await shown(reference)).toEqual(["accepted", "pay: pending"]);
  rail.found.push({ status: "pending" }, { status: "success" });
  await gateway.pass(6_000);
  await gateway.pass(12_000);
  expect(await shown(reference)).toEqual(["closed", "pay: pending", "find: pending", "find: success"]);
});

describe("a refusal", () => {
  const refusal = { status: "failed", failure: failureOf("payer_insufficient_funds") } as const;

  test("of a payout that the rail has paid, because a restore has lost the first request, does not fail the payout", async () => {
    rail.pay = async (payment) => {
      rail.ledger.set(payment.reference, { payment, answer: { status: "success" }, asked: 1 });
      return refusal;
    };
    const reference = await pay();
    await gateway.pass(0);
    expect(await shown(reference)).toEqual(["closed", "pay: failed", "find: success"]);
    expect(events()).toEqual(["disbursement.completed"]);
  });

  test.each([
    ["missing", "closed", "failed"],
    ["unsearchable", "closed", "failed"],
    [new Error("no response"), "waiting", "pending"],
  ] as const)("is final unless the look-up after it fails: %s", async (found, state, status) => {
    rail.pay = async () => refusal;
    rail.found.push(found);
    const reference = await pay();
    await gateway.pass(0);
    expect(await handoverOf(reference)).toMatchObject({ state, status });
  });
});

describe("an unknown outcome (D74)", () => {
  test("is looked up, and never paid twice", async () => {
    rail.answers.push(() => Promise.reject(new Error("socket hang up")));
    const reference = await pay();
    await gateway.pass(0);
    expect(await recordOf(reference)).toMatchObject({ status: "pending" });
    expect(await handoverOf(reference)).toMatchObject({ state: "waiting", unknownSince: expect.any(Number) });
    await gateway.pass(2_000);
    expect(await shown(reference)).toEqual(["closed", "pay: unknown", "find: success"]);
    expect(rail.ledger.get(reference)!.asked).toBe(1);
  });

  test("is sent again with the same reference if the rail does not have it", async () => {
    rail.answers.push(new Error("time-out"));
    rail.found.push("missing");
    const reference = await pay();
    await gateway.pass(0);
    await gateway.pass(2_000);
    expect(await shown(reference)).toEqual(["closed", "pay: unknown", "find: missing", "pay: success"]);
  });

  test("is shown with what is known of the reason", async () => {
    rail.answers.push(new TypeError("fetch failed", { cause: new Error("other side closed") }), new Error("time-out"));
    rail.found.push("missing", "unsearchable");
    const reference = await pay();
    await gateway.pass(0);
    await gateway.pass(2_000);
    await gateway.pass(4_000);
    expect((await exchangesOf(reference)).map(({ detail }) => detail)).toEqual([
      "fetch failed: other side closed",
      undefined,
      "time-out",
      "The rail cannot look it up.",
      undefined,
    ]);
  });

  test.each([
    ["two seconds later", () => gateway.clock.advance(2_000)],
    ["when the clock has jumped ahead", () => gateway.clock.set(gateway.clock.now() + 60 * MINUTE)],
  ])("is not failed by a refusal that the earlier request may have caused, %s", async (_, pass) => {
    const refusal = { status: "failed", failure: failureOf("payer_insufficient_funds") } as const;
    rail.answers.push(new Error("time-out"), refusal, refusal);
    rail.found.push("missing", "missing");
    const reference = await pay();
    await gateway.pass(0);
    pass();
    await gateway.pass(0);
    expect(await shown(reference)).toEqual(["waiting", "pay: unknown", "find: missing", "pay: failed"]);
    // Two minutes later, no request can arrive any more.
    await gateway.pass(3 * MINUTE);
    expect(await recordOf(reference)).toMatchObject({ status: "failed" });
  });

  test("waits while the rail does not respond, and needs a person after an hour", async () => {
    rail.answers.push(new Error("time-out"));
    rail.found.push(...Array.from({ length: 60 }, () => new Error("no response")));
    const reference = await pay();
    await gateway.pass(0);
    for (let passed = 0; passed <= 61; passed += 1) await gateway.pass(MINUTE);
    expect(await recordOf(reference)).toMatchObject({ status: "pending" });
    const unknownBefore = gateway.clock.now() - 60 * MINUTE;
    const [found] = await gateway.storage.listAttention({ unknownBefore, limit: 10 });
    expect(found).toMatchObject({ payment: { reference }, rail: "test", state: "waiting" });
  });

  test.each([
    ["fail", new Error("no response")],
    ["are impossible", "unsearchable" as const],
  ])("of an accepted payout whose look-ups %s needs a person after an hour", async (_, found) => {
    rail.answers.push({ status: "pending" });
    rail.found.push(...Array.from({ length: 60 }, () => found));
    const reference = await pay();
    await gateway.pass(0);
    for (let passed = 0; passed < 63; passed += 1) await gateway.pass(MINUTE);
    const unknownBefore = gateway.clock.now() - 60 * MINUTE;
    const attended = await gateway.storage.listAttention({ unknownBefore, limit: 10 });
    expect(attended).toMatchObject([{ payment: { reference }, state: "accepted", status: "pending" }]);
  });
});

test("a rail that refuses the connection has taken nothing: the payout is sent when it works again", async () => {
  rail.answers.push(new RailError("connection refused"));
  const reference = await pay();
  await gateway.pass(0);
  await gateway.pass(2_000);
  expect(await shown(reference)).toEqual(["closed", "pay: not-sent", "pay: success"]);
});

test("a paused rail is not asked, and goes on when it is resumed", async () => {
  await gateway.storage.pauseRail("test", "maintenance", "command ada@host");
  await gateway.clock.advance(1_000);
  await expect.poll(() => gateway.service.handovers!.begin()).toBe(0);
  const reference = await pay();
  await gateway.pass(0);
  expect(await shown(reference)).toEqual(["waiting"]);
  await gateway.storage.resumeRail("test", "command ada@host");
  gateway.clock.advance(1_000);
  await expect.poll(async () => (gateway.clock.advance(100), (await shown(reference))[0])).toBe("closed");
});

const notify = (body: object, name = "test") =>
  fetch(`${gateway.url}/rails/${name}/webhooks`, { method: "POST", body: JSON.stringify(body) });

describe("a notification of the rail", () => {
  test("ends the payout, once", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await pay();
    await gateway.pass(0);
    for (const _ of [1, 2]) expect((await notify({ reference, answer: { status: "success" } })).status).toBe(204);
    await gateway.pass(0);
    expect(await recordOf(reference)).toMatchObject({ status: "success" });
    expect(events()).toEqual(["disbursement.completed"]);
  });

  test("that contradicts a final status is a conflict, and changes nothing", async () => {
    const reference = await pay();
    await gateway.pass(0);
    await notify({ reference, answer: { status: "failed" } });
    await gateway.pass(0);
    expect(await recordOf(reference)).toMatchObject({ status: "success" });
    expect(await handoverOf(reference)).toMatchObject({ conflict: { answer: { status: "failed" } } });
    expect(events()).toEqual(["disbursement.completed"]);
    expect(gateway.logged().some(({ msg }) => /contradicts/.test(msg))).toBe(true);
    expect(await gateway.storage.closeConflict(reference, "returned by hand", "dashboard Ada")).toBe(true);
    expect((await handoverOf(reference)).conflict).toBeUndefined();
  });

  test("about another amount is not believed", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await pay();
    await gateway.pass(0);
    await notify({ reference, amount: 1, answer: { status: "success" } });
    expect(await recordOf(reference)).toMatchObject({ status: "pending" });
  });

  test.each([
    ["is too large", 413, {}, "x".repeat(65_537)],
    ["is not what its Content-Encoding says", 400, { "content-encoding": "gzip" }, "x"],
    ["has an unknown Content-Encoding", 415, { "content-encoding": "other" }, "x"],
  ])("that %s is refused, and is no error of this server", async (_, status, headers, body) => {
    const response = await fetch(`${gateway.url}/rails/test/webhooks`, { method: "POST", headers, body });
    expect([response.status, gateway.logged().some(({ level }) => level >= 50)]).toEqual([status, false]);
  });

  test("whose sender waits until it may send the body is read", async () => {
    const headers = { expect: "100-continue" };
    const sent = httpRequest(`${gateway.url}/rails/test/webhooks`, { method: "POST", headers });
    sent.once("continue", () => sent.end(JSON.stringify({ reference: "DSBunknown" })));
    sent.flushHeaders();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(404);
  });

  test.each([
    ["that the rail did not send", 401, { body: "wrong" }],
    ["about unknown payments", 404, { body: JSON.stringify({ reference: "DSBunknown" }) }],
  ])("%s are limited by address, before their bodies are read", async (_, status, { body }) => {
    await gateway.close();
    const env = { SANDBOX: "false", AUTH_FAILURES_PER_MINUTE: "2" };
    rail.receive = async (notification) => {
      const text = Buffer.from(notification.body).toString();
      if (text === "wrong") throw new RailError("This is not signed.");
      return JSON.parse(text) as { reference: string };
    };
    gateway = await startServer({ env, rails: railsOf(checkedRail(rail)) });
    const send = (sent: string) => fetch(`${gateway.url}/rails/test/webhooks`, { method: "POST", body: sent });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await send(body)).status);
    expect(statuses).toEqual([status, status, 429]);
    const tooLarge = await send("x".repeat(65_537));
    expect([tooLarge.status, Number(tooLarge.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
    expect((await gateway.createPayout()).status).toBe(200);
  });

  test("without an answer has the payment looked up ten times a minute at most", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await pay();
    await gateway.pass(0);
    const statuses = [];
    for (let count = 0; count < 11; count += 1) statuses.push((await notify({ reference })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 204), 429]);
    expect((await notify({ reference, answer: { status: "success" } })).status).toBe(204);
  });

  test("about an unknown payment, or of an unknown rail, is refused", async () => {
    expect((await notify({ reference: "DSBunknown", answer: { status: "success" } })).status).toBe(404);
    expect((await notify({ reference: "DSBunknown" }, "other")).status).toBe(404);
  });
});

test("a pair that no rail serves is refused with 422, and nothing is recorded", async () => {
  const { status, body } = await gateway.createPayout({ country: "US", currency: "USD", reference: "r-1" });
  expect([status, body.code]).toEqual([422, "not_served"]);
  expect((await gateway.createPayout({ reference: "r-1" })).status).toBe(200);
});

test("a checkout leads to the rail's page and ends as the rail says", async () => {
  const { promise, resolve } = Promise.withResolvers<RailAnswer>();
  rail.answers.push(() => promise);
  const { body } = await gateway.createCheckout({ webhookURL: receiver.url });
  const { reference } = body.data;
  const page = () => fetch(`${gateway.url}/checkouts/${reference}`, { redirect: "manual" });
  expect(await (await page()).text()).toContain("Opening the payment");
  resolve({ status: "pending", url: `https://rail.example/pay/${reference}` });
  await gateway.pass(0);
  const opened = await page();
  expect([opened.status, opened.headers.get("location")]).toEqual([303, `https://rail.example/pay/${reference}`]);
  rail.found.push({ status: "success" });
  await gateway.pass(6_000);
  expect(await (await page()).text()).toContain("Payment complete");
  expect(events()).toEqual(["checkout.completed"]);
});

test("a notification is given to the rail with what is in its address", async () => {
  rail.answers.push({ status: "pending" });
  rail.receive = async ({ query }) => ({ reference: query.get("reference")!, answer: { status: "success" } });
  await gateway.close();
  gateway = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(rail) });
  const { reference } = (await gateway.createPayout({})).body.data;
  await gateway.pass(0);
  const address = `${gateway.url}/rails/test/webhooks?reference=${reference}`;
  expect((await fetch(address, { method: "POST", body: "{}" })).status).toBe(204);
  expect(await recordOf(reference)).toMatchObject({ status: "success" });
});

test("a payer of a checkout whose link was lost is told to start again, and two operators can end it at once", async () => {
  rail.answers.push(new Error("The connection was closed."));
  rail.found.push({ status: "pending", railReference: "R-1" });
  const { reference } = (await gateway.createCheckout()).body.data;
  await gateway.pass(0);
  const page = async () => (await fetch(`${gateway.url}/checkouts/${reference}`, { redirect: "manual" })).text();
  expect(await page()).toContain("Opening the payment");
  await gateway.pass(2_000);
  expect(await handoverOf(reference)).toMatchObject({ state: "accepted", status: "pending" });
  expect(await page()).toMatch(/This payment cannot be opened[^]*You have not paid/);
  const operator = await signedIn(gateway);
  const shownPage = await operator.get(`/m/${gateway.merchant.id}/checkouts/${reference}`);
  expect(shownPage.html).toContain("payment link was lost");
  const decision = { status: "failed", reason: "the link was lost" };
  const path = `/m/${gateway.merchant.id}/payments/${reference}/decide`;
  for (const visitor of [operator, await signedIn(gateway, { name: "Esi" })]) await visitor.post(path, decision);
  expect(await handoverOf(reference)).toMatchObject({ state: "closed", status: "failed" });
});

const checkoutStatus = async (reference: string) =>
  (await gateway.request("GET", `/v1/checkouts/${reference}`)).body.data.status;
async function openCheckout() {
  const { reference } = (await gateway.createCheckout({ webhookURL: receiver.url })).body.data;
  await gateway.pass(0);
  return reference as string;
}
/** Passes the time in the steps in which the rail is asked. */
async function passMinutes(minutes: number) {
  for (let passed = 0; passed < minutes; passed += 1) await gateway.pass(MINUTE);
}

describe("a checkout whose time is over", () => {
  test("that its payer confirmed in minute 29 is paid, although the rail reports it in minute 31", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await openCheckout();
    await passMinutes(30);
    expect([await checkoutStatus(reference), events()]).toEqual(["pending", []]);
    rail.ledger.get(reference)!.answer = { status: "success" };
    await passMinutes(1);
    expect([await checkoutStatus(reference), events()]).toEqual(["success", ["checkout.completed"]]);
  });

  test("is cancelled as soon as the rail says that nobody has paid it, and paid later is a conflict", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await openCheckout();
    await passMinutes(29);
    rail.ledger.get(reference)!.answer = { status: "cancelled" };
    await gateway.pass(MINUTE);
    expect([await checkoutStatus(reference), events()]).toEqual(["cancelled", ["checkout.cancelled"]]);
    await notify({ reference, answer: { status: "success" } });
    expect(await handoverOf(reference)).toMatchObject({
      status: "cancelled",
      conflict: { answer: { status: "success" } },
    });
  });

  test("is cancelled and never sent if the rail has taken none of its requests", async () => {
    rail.answers.push(...Array.from({ length: 99 }, () => new RailError("connection refused")));
    const reference = await openCheckout();
    await passMinutes(31);
    rail.answers.splice(0);
    await passMinutes(5);
    expect([await checkoutStatus(reference), rail.ledger.size]).toEqual(["cancelled", 0]);
  });

  test.each([
    [{ status: "success" }, "success"],
    ["unsearchable", "cancelled"],
    [new Error("no response"), "pending"],
  ] as const)("is looked up, because a failover may have lost that it was handed over: %j", async (found, status) => {
    rail.answers.push(...Array.from({ length: 99 }, () => new RailError("connection refused")));
    const reference = await openCheckout();
    rail.found.push(found);
    await passMinutes(30);
    expect([await checkoutStatus(reference), (await shown(reference)).at(-1)]).toEqual([
      status,
      expect.stringMatching(/^find: /),
    ]);
  });

  test("stays pending while the rail cannot be asked, and needs a person after an hour", async () => {
    rail.answers.push({ status: "pending" });
    const reference = await openCheckout();
    rail.found.push(...Array.from({ length: 300 }, () => new Error("no response")));
    await passMinutes(95);
    expect([await checkoutStatus(reference), events()]).toEqual(["pending", []]);
    const unknownBefore = gateway.clock.now() - 60 * MINUTE;
    expect(await gateway.storage.listAttention({ unknownBefore, limit: 10 })).toMatchObject([
      { payment: { reference } },
    ]);
  });

  test("whose request was lost is cancelled once the rail says that it never arrived", async () => {
    rail.answers.push(...Array.from({ length: 99 }, () => new Error("time-out")));
    const reference = await openCheckout();
    await gateway.pass(30 * MINUTE);
    await passMinutes(10);
    expect(await checkoutStatus(reference)).toBe("cancelled");
  });
});

describe("a stop of the server", () => {
  test("ends calls that take longer than it waits, and leaves their outcomes unknown", async () => {
    const stopped = gateway;
    stopped.storage.close = async () => {};
    rail.answers.push(() => new Promise(() => {}));
    const reference = await pay();
    await expect.poll(() => rail.ledger.size).toBe(1);
    const closed = stopped.close();
    await expect.poll(async () => (stopped.clock.advance(5_000), (await exchangesOf(reference)).length)).toBe(1);
    await closed;
    expect(await exchangesOf(reference)).toMatchObject([
      { action: "pay", result: "unknown", detail: "The server stopped meanwhile." },
    ]);
    expect(await handoverOf(reference)).toMatchObject({ status: "pending", state: "waiting" });
    gateway = await startServer();
  });

  test("closes the rail after its last call", async () => {
    const order: string[] = [];
    await gateway.close();
    const closing = { ...rail, close: async () => void order.push("closed") };
    gateway = await startServer({ env: { SANDBOX: "false" }, rails: railsOf(checkedRail(closing)) });
    const { promise, resolve } = Promise.withResolvers<void>();
    rail.answers.push(() => promise.then(() => (order.push("paid"), { status: "success" })));
    await pay();
    await expect.poll(() => rail.ledger.size).toBe(1);
    const closed = gateway.close();
    resolve();
    await closed;
    expect(order).toEqual(["paid", "closed"]);
    gateway = await startServer();
  });
});

test("an attempt whose lease ended and was renewed by its own process is recorded under the new claim", async () => {
  await gateway.close();
  gateway = await startServer({
    env: { SANDBOX: "false" },
    rails: railsOf(rail),
    openStorage: (how) => Object.assign(openSqlite(":memory:", how), { renewHandovers: async () => {} }),
  });
  const { promise, resolve } = Promise.withResolvers<RailAnswer>();
  rail.answers.push(() => promise);
  const reference = await pay();
  await expect.poll(() => rail.ledger.size).toBe(1);
  for (let passed = 0; passed < 5; passed += 1) {
    gateway.clock.advance(1_000);
    await gateway.service.handovers!.begin();
  }
  resolve({ status: "pending" });
  await gateway.service.handovers!.idle();
  const { nextAttemptAt } = await handoverOf(reference);
  expect(nextAttemptAt).toBeGreaterThan(gateway.clock.now());
});
