import { expect, test } from "vitest";
import { createTurns, type WorkKind } from "./turns.ts";

/** Turns of an event loop that the test moves, and requests that use as much time as the test says. */
function aLoop() {
  let now = 0;
  let deferred: (() => void)[] = [];
  let utilization = 1;
  const defer = (callback: () => void) => void deferred.push(callback);
  const turns = createTurns({ monotonic: () => now }, { defer, rest: defer, utilization: () => utilization });
  const begun: string[] = [];
  async function send(merchantId: string, name: string, usesMs = 1, work: WorkKind = "payments") {
    await turns.take(merchantId, work);
    begun.push(name);
    now += usesMs;
  }
  /**
   * Runs the callbacks that were deferred before this turn, and after each callback everything that follows from it.
   */
  async function turn() {
    const callbacks = deferred;
    deferred = [];
    for (const callback of callbacks) {
      callback();
      await Promise.resolve();
      await Promise.resolve();
    }
    return begun.splice(0);
  }
  /** Returns the requests that begin without waiting. */
  async function flood(merchantId: string, count: number, usesMs = 1, work: WorkKind = "payments") {
    for (let index = 1; index <= count; index += 1) {
      void send(merchantId, `${merchantId}${index}`, usesMs, work);
      await Promise.resolve();
      await Promise.resolve();
    }
    return begun.splice(0);
  }
  const sendWebhook = (merchantId: string, name: string) => send(merchantId, name, 1, "webhooks");
  return {
    send,
    sendWebhook,
    flood,
    turn,
    pass: (milliseconds: number) => (now += milliseconds),
    use: (share: number) => (utilization = share),
  };
}

test("a turn begins as many requests as fit into four milliseconds, and the next turn goes on", async () => {
  const { flood, turn } = aLoop();
  expect(await flood("a", 7)).toEqual(["a1", "a2", "a3", "a4"]);
  expect(await turn()).toEqual(["a5", "a6", "a7"]);
  expect(await turn()).toEqual([]);
});

test("a turn is shorter while several merchants have work", async () => {
  const { flood, turn } = aLoop();
  await flood("a", 10);
  await flood("b", 10);
  await turn();
  expect(await turn()).toHaveLength(1);
});

test("a merchant with one request is next, however many of others wait and have come before", async () => {
  const { flood, send, turn } = aLoop();
  for (const merchant of ["a", "b", "c"]) await flood(merchant, 100);
  await turn();
  void send("ada", "ada's");
  expect((await turn())[0]).toBe("ada's");
});

test("what counts is the time used, not the number of requests", async () => {
  const { flood, turn } = aLoop();
  const begun = [...(await flood("a", 10, 3)), ...(await flood("b", 30, 1))];
  for (let count = 0; count < 3; count += 1) begun.push(...(await turn()));
  const of = (merchant: string) => begun.filter((name) => name.startsWith(merchant)).length;
  // Each request of a takes as long as three of b.
  expect(Math.abs(3 * of("a") - of("b"))).toBeLessThanOrEqual(3);
  expect(begun.length).toBeLessThan(30);
});

test("a merchant who was idle has no claim on more than being next", async () => {
  const { flood, turn, pass } = aLoop();
  await flood("a", 4);
  await turn();
  pass(60_000);
  expect(await flood("a", 6)).toEqual(["a1", "a2", "a3", "a4"]);
  expect(await flood("b", 6)).toEqual(["b1", "b2", "b3"]);
  const begun = [];
  for (let count = 0; count < 4; count += 1) begun.push(...(await turn()));
  expect(begun.toSorted()).toEqual(["a5", "a6", "b4", "b5"]);
});

test("a merchant whose queue is full is refused with a time to retry, and others are not", async () => {
  const { send, flood, turn } = aLoop();
  await flood("a", 4 + 1_024);
  await expect(send("a", "late")).rejects.toMatchObject({ code: "rate_limited", details: { retryAfterSeconds: 1 } });
  void send("b", "b's");
  expect(await turn()).toContain("b's");
  void send("a", "again");
  let begun: string[] = [];
  for (let left = 1_100; left > 0; left -= 1) begun = begun.concat(await turn());
  expect(begun).toHaveLength(1_024);
  expect(begun.at(-1)).toBe("again");
});

test("a merchant who has used less than all who wait begins at once", async () => {
  const { flood, send } = aLoop();
  await flood("a", 100);
  expect(await flood("ada", 1)).toEqual(["ada1"]);
  void send("a", "last");
  expect(await flood("ada", 1)).toEqual(["ada1"]);
});

test("a merchant's requests go before the merchant's webhooks, and of webhooks a turn begins few", async () => {
  const { flood, send, sendWebhook, turn } = aLoop();
  await flood("a", 4);
  for (let count = 1; count <= 3; count += 1) void sendWebhook("a", `webhook${count}`);
  void send("a", "request");
  expect(await turn()).toEqual(["request", "webhook1"]);
  expect(await turn()).toEqual(["webhook2"]);
  expect(await turn()).toEqual(["webhook3"]);
});

test("a webhook of a merchant who has used little goes before the requests of others", async () => {
  const { flood, sendWebhook, turn } = aLoop();
  await flood("a", 100);
  void sendWebhook("ada", "ada's");
  expect((await turn())[0]).toBe("ada's");
});

test("payments and webhooks go before the lists of a merchant that has used less", async () => {
  const { flood, sendWebhook, turn } = aLoop();
  await flood("lists", 100, 200, "others");
  await flood("ada", 300);
  for (let count = 1; count <= 2; count += 1) void sendWebhook("ada", `webhook${count}`);
  const begun: string[] = [];
  while (begun.length < 302) begun.push(...(await turn()));
  expect(begun.filter((name) => name.startsWith("lists"))).toEqual([]);
});

test("lists that have used more than a tenth of the time wait while the event loop has no time", async () => {
  const { flood, turn, use, pass } = aLoop();
  await flood("a", 1, 100, "others");
  await flood("b", 50, 100, "others");
  expect(await turn()).toEqual(["b1"]);
  expect(await turn()).toEqual([]);
  use(0.8);
  expect((await turn()).length).toBeGreaterThan(0);
  use(1);
  expect(await turn()).toEqual([]);
  // The use of both merchants counts half as much after each second.
  pass(2_000);
  expect((await turn()).length).toBeGreaterThan(0);
});

test("a merchant alone may list as much as the event loop can", async () => {
  const { flood, turn } = aLoop();
  await flood("a", 50, 100, "others");
  for (let count = 0; count < 10; count += 1) expect(await turn()).toHaveLength(1);
});
