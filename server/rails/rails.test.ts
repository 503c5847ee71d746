// A live service hands payments to rails, and says only what the rails have said (D73, D74).
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../domain/records.ts";
import { RailError, type RailAnswer } from "../domain/rails.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { signedIn } from "../testing/dashboard-visitor.ts";
import { createTestRail, railsOf, type TestRail } from "../testing/rail.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { checkedRail } from "./checked-rail.ts";

const MINUTE = 60_000;
const REFUSAL = { status: "failed", failure: failureOf("payer_insufficient_funds") } as const;
let rail: TestRail;
let gateway: TestServer;
let receiver: Receiver;

beforeEach(async () => {
  rail = createTestRail();
  receiver = await startReceiver();
  const webhooks = { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_ALLOW_INSECURE: "true" };
  const env = { SANDBOX: "false", AUTH_FAILURES_PER_MINUTE: "2", ...webhooks };
  gateway = await startServer({ env, rails: railsOf(checkedRail(rail)) });
});
afterEach(async () => {
  await gateway.close();
  await receiver.close();
});

/** Creates a payout and hands it over. */
async function pay() {
  const { status, body } = await gateway.createPayout({ webhookURL: receiver.url });
  expect([status, body.data.status]).toEqual([200, "pending"]);
  await gateway.pass(0);
  return body.data.reference as string;
}
/** Opens a checkout and hands it over. */
async function collect() {
  const { reference } = (await gateway.createCheckout({ webhookURL: receiver.url })).body.data;
  await gateway.pass(0);
  return reference as string;
}
/** Passes the time in the steps in which the rail is asked. */
async function passMinutes(minutes: number) {
  for (let passed = 0; passed < minutes; passed += 1) await gateway.pass(MINUTE);
}
async function recordOf(reference: string) {
  const kind = reference.startsWith("DSB") ? "disbursements" : "checkouts";
  return (await gateway.request("GET", `/v1/${kind}/${reference}`)).body.data;
}
const statusOf = async (reference: string) => (await recordOf(reference)).status;
const handoverOf = async (reference: string) => (await gateway.storage.findHandover(reference))!;
const exchangesOf = async (reference: string) => (await handoverOf(reference)).exchanges;
/** The state of a hand-over, and the calls of the rail with their results. */
const shown = async (reference: string) => {
  const exchanges = await exchangesOf(reference);
  return [(await handoverOf(reference)).state, ...exchanges.map(({ action, result }) => `${action}: ${result}`)];
};
const events = () => receiver.received.map(({ body }) => body.event);
const many = <T>(item: T, count = 300): T[] => Array.from({ length: count }, () => item);

test.each<[what: string, answers: TestRail["answers"], found: TestRail["found"], calls: string[], status?: string]>([
  ["is paid at once", [], [], ["pay: success"]],
  ["is refused", [REFUSAL], [], ["pay: failed"], "failed"],
  [
    "is accepted, and pending until the rail ends it",
    [{ status: "pending" }],
    [{ status: "pending" }, { status: "success" }],
    ["pay: pending", "find: pending", "find: success"],
  ],
  [
    "is paid, and the response is lost",
    [() => Promise.reject(new Error("socket hang up"))],
    [],
    ["pay: unknown", "find: success"],
  ],
  ["is lost on the way", [new Error("time-out")], ["missing"], ["pay: unknown", "find: missing", "pay: success"]],
  ["cannot be sent at first", [new RailError("connection refused")], [], ["pay: not-sent", "pay: success"]],
])("a payout that %s is paid once at most, and ends with one webhook", async (_, answers, found, calls, status) => {
  rail.answers.push(...answers);
  rail.found.push(...found);
  const reference = await pay();
  if (calls.length > 1) expect(await statusOf(reference)).toBe("pending");
  for (const milliseconds of [6_000, 12_000]) await gateway.pass(milliseconds);
  expect(await shown(reference)).toEqual(["closed", ...calls]);
  expect(rail.ledger.get(reference)).toMatchObject({ asked: 1, payment: { reference, amount: 10_000 } });
  const failure = status && { failure: { code: "payer_insufficient_funds", message: expect.any(String) } };
  expect(await recordOf(reference)).toMatchObject({ status: status ?? "success", ...failure });
  expect(events()).toEqual([status ? "disbursement.failed" : "disbursement.completed"]);
});

describe("a refusal without a reference of the rail", () => {
  test.each([
    ["missing", "closed", "failed"],
    ["unsearchable", "closed", "failed"],
    [new Error("no response"), "waiting", "pending"],
    // A restore has lost the first request.
    [{ status: "success" }, "closed", "success"],
  ] as const)("is final unless the look-up after it says otherwise: %j", async (found, state, status) => {
    rail.pay = async () => REFUSAL;
    rail.found.push(found);
    const reference = await pay();
    expect(await handoverOf(reference)).toMatchObject({ state, status });
  });
});

describe("an unknown outcome (D74)", () => {
  test("is shown with what is known of the reason", async () => {
    rail.answers.push(new TypeError("fetch failed", { cause: new Error("other side closed") }), new Error("time-out"));
    rail.found.push("missing", "unsearchable");
    const reference = await pay();
    for (const milliseconds of [2_000, 4_000]) await gateway.pass(milliseconds);
    const details = (await exchangesOf(reference)).map(({ detail }) => detail);
    const expected = ["fetch failed: other side closed", undefined, "time-out", "The rail cannot look it up."];
    expect(details).toEqual([...expected, undefined]);
  });

  test.each([
    ["two seconds later", () => gateway.clock.advance(2_000)],
    ["when the clock has jumped ahead", () => gateway.clock.set(gateway.clock.now() + 60 * MINUTE)],
  ])("is not failed by a refusal that the earlier request may have caused, %s", async (_, pass) => {
    rail.answers.push(new Error("time-out"), REFUSAL, REFUSAL);
    rail.found.push("missing", "missing");
    const reference = await pay();
    pass();
    await gateway.pass(0);
    expect(await shown(reference)).toEqual(["waiting", "pay: unknown", "find: missing", "pay: failed"]);
    // Two minutes later, no request can arrive any more.
    await gateway.pass(3 * MINUTE);
    expect(await statusOf(reference)).toBe("failed");
  });

  const NONE = new Error("none");
  test.each<[string, () => Promise<string>, TestRail["answers"][number], TestRail["found"][number], number, string]>([
    ["a payout that may be sent, while the rail does not respond,", pay, new Error("time-out"), NONE, 63, "waiting"],
    ["an accepted payout whose look-ups fail", pay, { status: "pending" }, NONE, 63, "accepted"],
    ["an accepted payout that cannot be looked up", pay, { status: "pending" }, "unsearchable", 63, "accepted"],
    // Half an hour passes before a checkout is asked about.
    ["an expired checkout whose look-ups fail", collect, { status: "pending" }, NONE, 95, "accepted"],
  ])("of %s needs a person after an hour", async (_, create, answer, found, minutes, state) => {
    rail.answers.push(answer);
    rail.found.push(...many(found));
    const reference = await create();
    await passMinutes(minutes);
    const unknownBefore = gateway.clock.now() - 60 * MINUTE;
    const attended = await gateway.storage.listAttention({ unknownBefore, limit: 10 });
    expect(attended).toMatchObject([{ payment: { reference }, rail: "test", state, status: "pending" }]);
    expect(events()).toEqual([]);
  });
});

test("a paused rail is not asked, and goes on when it is resumed", async () => {
  await gateway.storage.pauseRail("test", "maintenance", "command ada@host");
  gateway.clock.advance(1_000);
  await expect.poll(() => gateway.service.handovers!.begin()).toBe(0);
  const reference = await pay();
  expect(await shown(reference)).toEqual(["waiting"]);
  await gateway.storage.resumeRail("test", "command ada@host");
  gateway.clock.advance(1_000);
  await expect.poll(async () => (gateway.clock.advance(100), (await shown(reference))[0])).toBe("closed");
});

const notify = (body: object | string, { path = "test/webhooks", method = "POST", headers = {} } = {}) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init: RequestInit = { method, headers, body: text };
  return fetch(`${gateway.url}/rails/${path}`, init);
};
async function accepted() {
  rail.answers.push({ status: "pending" });
  return pay();
}

describe("a notification of the rail", () => {
  const ENDS = { answer: { status: "success" } };
  test.each([
    ["its body", (reference: string) => notify({ reference, ...ENDS })],
    ["the body of a PUT", (reference: string) => notify({ reference, ...ENDS }, { method: "PUT" })],
    ["its address", (reference: string) => notify(ENDS, { path: `test/webhooks?reference=${reference}` })],
  ])("with the reference in %s ends the payout, once", async (_, send) => {
    const reference = await accepted();
    expect([(await send(reference)).status, (await send(reference)).status]).toEqual([204, 204]);
    await gateway.pass(0);
    expect(await statusOf(reference)).toBe("success");
    expect(events()).toEqual(["disbursement.completed"]);
  });

  test("that contradicts a final status is a conflict, and changes nothing", async () => {
    const reference = await pay();
    await notify({ reference, answer: { status: "failed" } });
    await gateway.pass(0);
    expect(await handoverOf(reference)).toMatchObject({
      status: "success",
      conflict: { answer: { status: "failed" } },
    });
    expect(events()).toEqual(["disbursement.completed"]);
    expect(gateway.logged().some(({ msg }) => /contradicts/.test(msg))).toBe(true);
    expect(await gateway.storage.closeConflict(reference, "returned by hand", "dashboard Ada")).toBe(true);
    expect((await handoverOf(reference)).conflict).toBeUndefined();
  });

  test.each([
    ["about another amount", 204, { amount: 1 }, {}],
    ["of another rail", 404, {}, { path: "other/webhooks" }],
  ])("%s is not believed", async (_, status, about, options) => {
    const reference = await accepted();
    const response = await notify({ reference, ...about, ...ENDS }, options);
    expect([response.status, await statusOf(reference)]).toEqual([status, "pending"]);
  });

  const UNKNOWN = { reference: "DSBunknown", answer: { status: "success" } };
  test.each([
    ["is too large", 413, "x".repeat(65_537), {}],
    ["is not what its Content-Encoding says", 400, "x", { headers: { "content-encoding": "gzip" } }],
    ["has an unknown Content-Encoding", 415, "x", { headers: { "content-encoding": "other" } }],
    ["is about an unknown payment", 404, UNKNOWN, {}],
    ["is of an unknown rail", 404, UNKNOWN, { path: "none/webhooks" }],
  ])("that %s is refused, and is no error of this server", async (_, status, body, options) => {
    const response = await notify(body, options);
    expect([response.status, gateway.logged().some(({ level }) => level >= 50)]).toEqual([status, false]);
  });

  test("whose sender waits until it may send the body is read", async () => {
    const headers = { expect: "100-continue" };
    const sent = httpRequest(`${gateway.url}/rails/test/webhooks`, { method: "POST", headers });
    sent.once("continue", () => sent.end(JSON.stringify(UNKNOWN)));
    sent.flushHeaders();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(404);
  });

  test.each([
    ["that the rail did not send", 401, "not signed"],
    ["about unknown payments", 404, UNKNOWN],
  ])("%s is limited by address, before its body is read", async (_, status, body) => {
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await notify(body)).status);
    expect(statuses).toEqual([status, status, 429]);
    const tooLarge = await notify("x".repeat(65_537));
    expect([tooLarge.status, Number(tooLarge.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
    expect((await gateway.createPayout()).status).toBe(200);
  });

  test("without an answer has the payment looked up ten times a minute at most", async () => {
    const reference = await accepted();
    const statuses = [];
    for (let count = 0; count < 11; count += 1) statuses.push((await notify({ reference })).status);
    expect(statuses).toEqual([...many(204, 10), 429]);
    expect((await notify({ reference, answer: { status: "success" } })).status).toBe(204);
  });
});

test("a pair that no rail serves is refused with 422, and nothing is recorded", async () => {
  const { status, body } = await gateway.createPayout({ country: "US", currency: "USD", reference: "r-1" });
  expect([status, body.code]).toEqual([422, "not_served"]);
  expect((await gateway.createPayout({ reference: "r-1" })).status).toBe(200);
});

const page = (reference: string) => fetch(`${gateway.url}/checkouts/${reference}`, { redirect: "manual" });
const textOf = async (reference: string) => (await page(reference)).text();

describe("a checkout", () => {
  test("leads to the rail's page and ends as the rail says", async () => {
    const { promise, resolve } = Promise.withResolvers<RailAnswer>();
    rail.answers.push(() => promise);
    const { reference } = (await gateway.createCheckout({ webhookURL: receiver.url })).body.data;
    expect(await textOf(reference)).toContain("Opening the payment");
    const url = `https://rail.example/pay/${reference}`;
    resolve({ status: "pending", url });
    await gateway.pass(0);
    const opened = await page(reference);
    expect([opened.status, opened.headers.get("location")]).toEqual([303, url]);
    rail.found.push({ status: "success" });
    await gateway.pass(6_000);
    expect(await textOf(reference)).toContain("Payment complete");
    expect(events()).toEqual(["checkout.completed"]);
  });

  test("whose link was lost tells its payer to start again, and two operators can end it at once", async () => {
    rail.answers.push(new Error("The connection was closed."));
    rail.found.push({ status: "pending", railReference: "R-1" });
    const reference = await collect();
    expect(await textOf(reference)).toContain("Opening the payment");
    await gateway.pass(2_000);
    expect(await handoverOf(reference)).toMatchObject({ state: "accepted", status: "pending" });
    expect(await textOf(reference)).toMatch(/This payment cannot be opened[^]*You have not paid/);
    const operator = await signedIn(gateway);
    const shownPage = await operator.get(`/m/${gateway.merchant.id}/checkouts/${reference}`);
    expect(shownPage.html).toContain("payment link was lost");
    const decision = { status: "failed", reason: "the link was lost" };
    const path = `/m/${gateway.merchant.id}/payments/${reference}/decide`;
    for (const visitor of [operator, await signedIn(gateway, { name: "Esi" })]) await visitor.post(path, decision);
    expect(await handoverOf(reference)).toMatchObject({ state: "closed", status: "failed" });
  });

  describe("whose time is over", () => {
    test.each([
      ["success", 30, "checkout.completed"],
      ["cancelled", 29, "checkout.cancelled"],
    ] as const)("ends as %s as soon as the rail says so", async (status, minutes, event) => {
      rail.answers.push({ status: "pending" });
      const reference = await collect();
      await passMinutes(minutes);
      expect([await statusOf(reference), events()]).toEqual(["pending", []]);
      rail.ledger.get(reference)!.answer = { status };
      await passMinutes(1);
      expect([await statusOf(reference), events()]).toEqual([status, [event]]);
    });

    test.each<[what: string, answers: Error, found: TestRail["found"], minutes: number, status: string]>([
      ["that the rail never took is cancelled", new RailError("refused"), [], 31, "cancelled"],
      [
        "that was paid, which a failover has lost, succeeds",
        new RailError("refused"),
        [{ status: "success" }],
        30,
        "success",
      ],
      [
        "that cannot be looked up, and was never taken, is cancelled",
        new RailError("refused"),
        ["unsearchable"],
        30,
        "cancelled",
      ],
      ["that cannot be asked about is pending", new RailError("refused"), [new Error("no response")], 30, "pending"],
      ["whose request was lost is cancelled once the rail lacks it", new Error("time-out"), [], 40, "cancelled"],
    ])("%s", async (_, answer, found, minutes, status) => {
      rail.answers.push(...many(answer));
      const reference = await collect();
      rail.found.push(...found);
      await passMinutes(minutes);
      expect(await statusOf(reference)).toBe(status);
      expect((await shown(reference)).some((each) => each.startsWith("find: "))).toBe(true);
      // It is never sent later.
      rail.answers.splice(0);
      if (status === "cancelled") await passMinutes(5);
      expect(rail.ledger.size).toBe(0);
    });
  });
});

/** Creates a payout whose call of the rail has begun, and ends with the promise. */
async function underWay(answer: Promise<RailAnswer>) {
  rail.answers.push(() => answer);
  const { reference } = (await gateway.createPayout()).body.data;
  await expect.poll(() => rail.ledger.size).toBe(1);
  return reference as string;
}
/** Starts a server in place of the first one. */
async function restart(options: Parameters<typeof startServer>[0]) {
  await gateway.close();
  gateway = await startServer({ env: { SANDBOX: "false" }, ...options });
}

describe("a call in progress", () => {
  test("that takes longer than a stop waits is ended, and its outcome is unknown", async () => {
    const stopped = gateway;
    stopped.storage.close = async () => {};
    const reference = await underWay(new Promise(() => {}));
    const closed = stopped.close();
    await expect.poll(async () => (stopped.clock.advance(5_000), (await exchangesOf(reference)).length)).toBe(1);
    await closed;
    expect(await exchangesOf(reference)).toMatchObject([
      { action: "pay", result: "unknown", detail: "The server stopped meanwhile." },
    ]);
    expect(await handoverOf(reference)).toMatchObject({ status: "pending", state: "waiting" });
    gateway = await startServer();
  });

  // `start.ts` closes in the reverse of the order in which it opened, so a rail after the service.
  test("ends before the service has stopped", async () => {
    const order: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    await underWay(promise.then(() => (order.push("paid"), { status: "success" })));
    const closed = gateway.close().then(() => order.push("stopped"));
    resolve();
    await closed;
    expect(order).toEqual(["paid", "stopped"]);
    gateway = await startServer();
  });

  test("whose lease ended and was renewed by its own process is recorded under the new claim", async () => {
    await restart({
      rails: railsOf(rail),
      openStorage: (how) => Object.assign(openSqlite(":memory:", how), { renewHandovers: async () => {} }),
    });
    const { promise, resolve } = Promise.withResolvers<RailAnswer>();
    const reference = await underWay(promise);
    for (let passed = 0; passed < 5; passed += 1) {
      gateway.clock.advance(1_000);
      await gateway.service.handovers!.begin();
    }
    resolve({ status: "pending" });
    await gateway.service.handovers!.idle();
    const { nextAttemptAt } = await handoverOf(reference);
    expect(nextAttemptAt).toBeGreaterThan(gateway.clock.now());
  });
});
