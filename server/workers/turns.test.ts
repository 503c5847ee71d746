import { expect, test } from "vitest";
import { createTurns } from "./turns.ts";

/** Turns of an event loop that the test moves, and requests that use as much time as the test says. */
function aLoop() {
  let now = 0;
  let deferred: (() => void)[] = [];
  const turns = createTurns({ clock: { monotonic: () => now }, defer: (callback) => void deferred.push(callback) });
  const begun: string[] = [];
  async function send(merchantId: string, name: string, usesMs = 1) {
    await turns.take(merchantId);
    begun.push(name);
    now += usesMs;
  }
  /** Runs what was deferred before this turn, and what each callback leads to at once. */
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
  /** Returns what begins without waiting. */
  async function flood(merchantId: string, count: number, usesMs = 1) {
    for (let index = 1; index <= count; index += 1) {
      void send(merchantId, `${merchantId}${index}`, usesMs);
      await Promise.resolve();
      await Promise.resolve();
    }
    return begun.splice(0);
  }
  return { send, flood, turn, pass: (milliseconds: number) => (now += milliseconds) };
}

test("a turn begins as many requests as fit into four milliseconds, and the next turn goes on", async () => {
  const { flood, turn } = aLoop();
  expect(await flood("a", 7)).toEqual(["a1", "a2", "a3", "a4"]);
  expect(await turn()).toEqual(["a5", "a6", "a7"]);
  expect(await turn()).toEqual([]);
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
  const begun = [...(await flood("a", 10, 3)), ...(await flood("b", 10, 1))];
  for (let count = 0; count < 3; count += 1) begun.push(...(await turn()));
  const of = (merchant: string) => begun.filter((name) => name.startsWith(merchant)).length;
  // Each request of a takes as long as three of b.
  expect(Math.abs(3 * of("a") - of("b"))).toBeLessThanOrEqual(3);
  expect(begun.length).toBeLessThan(20);
});

test("a merchant who was idle has no claim on more than being next", async () => {
  const { flood, turn, pass } = aLoop();
  await flood("a", 4);
  await turn();
  pass(60_000);
  expect(await flood("a", 6)).toEqual(["a1", "a2", "a3", "a4"]);
  await flood("b", 6);
  expect(await turn()).toEqual(["b1", "b2", "b3", "b4"]);
  expect((await turn()).toSorted()).toEqual(["a5", "a6", "b5", "b6"]);
});

test("a merchant whose queue is full is refused with a time to retry, and others are not", async () => {
  const { send, flood, turn } = aLoop();
  await flood("a", 4 + 1_024);
  await expect(send("a", "late")).rejects.toMatchObject({ code: "rate_limited", details: { retryAfterSeconds: 1 } });
  void send("b", "b's");
  expect(await turn()).toContain("b's");
  void send("a", "again");
  let begun: string[] = [];
  for (let left = 300; left > 0; left -= 1) begun = begun.concat(await turn());
  expect(begun).toHaveLength(1_022);
  expect(begun.at(-1)).toBe("again");
});
