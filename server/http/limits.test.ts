// How many requests a merchant or an address may send, and how many may be in progress.
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { concurrently } from "../testing/storage/fixtures.ts";
import { start } from "../testing/table.ts";
import { createRequestLimit } from "./request-limit.ts";

const NOTHING = "/v1/disbursements/nothing";

test("beyond its rate limit, a merchant gets 429 with Retry-After before the body is read (D15)", async () => {
  const server = await start({ env: { RATE_LIMIT: "2" } });
  const { key } = await server.addMerchant("Kofi & Sons");
  const list = async (own: string) => (await server.request("GET", "/v1/disbursements", { key: own })).status;
  const thrice = async (own = server.key) => [await list(own), await list(own), await list(own)];
  expect(await thrice()).toEqual([200, 200, 429]);
  const { status, headers, body } = await server.createPayout({}, { body: "{".repeat(20_000) });
  expect([status, headers["retry-after"], body.code]).toEqual([429, "1", "rate_limited"]);
  expect(await thrice(key)).toEqual([200, 200, 429]);
  expect((await server.request("GET", "/healthz")).status).toBe(200);
  expect((await server.request("GET", NOTHING, { key: null })).status).toBe(401);
  // A limit that was agreed with a merchant is in place of the usual one.
  await server.storage.setMerchantTerms(server.merchant.id, { rateLimit: 1 }, "command ada@host");
  server.clock.advance(1_000);
  expect([await thrice(), await thrice(key)]).toEqual([
    [200, 429, 429],
    [200, 200, 429],
  ]);
});

describe("requests without a valid key", () => {
  test("get 429 beyond the limit of their address; a valid key still works", async () => {
    const server = await start({ env: { AUTH_FAILURES_PER_MINUTE: "3" } });
    const send = (key: string | null) => server.request("GET", NOTHING, { key });
    const statuses = [];
    for (const key of ["wrong", null, "wrong", "wrong", null]) statuses.push((await send(key)).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect(Number((await send("wrong")).headers["retry-after"])).toBeGreaterThan(0);
    expect((await send(server.key)).status).toBe(404);
  });

  test("are counted by the client's address behind a trusted proxy", async () => {
    const server = await start({ env: { AUTH_FAILURES_PER_MINUTE: "1", TRUST_PROXY: "1" } });
    // An IPv6 client can choose any address of its network.
    const addresses: [string, number][] = [
      ["203.0.113.7", 401],
      ["::ffff:203.0.113.7", 429],
      ["203.0.113.8", 401],
      ["2001:db8:1:2::1", 401],
      ["2001:db8:1:ff::2", 429],
      ["2001:db8:2:2::1", 401],
    ];
    for (const [address, expected] of addresses) {
      const headers = { "x-forwarded-for": address };
      const { status } = await server.request("GET", NOTHING, { key: null, headers });
      expect.soft(status, address).toBe(expected);
    }
    const clients = server.logged().flatMap(({ client }) => client ?? []);
    expect(new Set(clients)).toEqual(new Set(["203.0.113.0/24", "2001:db8:1::/48", "2001:db8:2::/48"]));
  });
});

test("a limit refuses a caller until the minute is over, and counts 10,000 callers apart, others together", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const limit = createRequestLimit({ perMinute: 2, message: "Too many." });
  const refused = (seconds: number) =>
    expect.objectContaining({ code: "rate_limited", details: { retryAfterSeconds: seconds } });
  limit.count("a");
  vi.advanceTimersByTime(10_000);
  limit.count("a");
  expect(() => limit.count("a")).toThrow(refused(50));
  limit.count("b");
  vi.advanceTimersByTime(50_000);
  for (let caller = 1; caller < 10_000; caller += 1) limit.count(`caller ${caller}`);
  limit.count("a");
  limit.count("later");
  limit.count("much later");
  expect(() => limit.count("last")).toThrow(refused(60));
  limit.count("caller 7");
});

test("who has filled the room for payments gets 429, and others 503, and nothing is recorded (D56)", async () => {
  const server = await start();
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const held: string[] = [];
  const { insertDisbursement } = server.storage;
  server.storage.insertDisbursement = async (draft) => {
    held.push(draft.merchantId);
    await gate.promise;
    return insertDisbursement(draft);
  };
  const refused: unknown[] = [];
  async function pay(key: string) {
    const { status, headers, body } = await server.createPayout({}, { key });
    if (status !== 200) refused.push([key, status, body.code, headers["retry-after"]]);
  }
  const [newcomer, ...small] = await concurrently(91, async (at) => (await server.addMerchant(`Shop ${at}`)).key);
  // One merchant gets half of the room, less an eighth, and others find room for one each.
  const begun = Array.from({ length: 71 }, () => pay(server.key));
  await expect.poll(() => held.length).toBe(70);
  begun.push(...small.map(pay));
  await expect.poll(() => held.length).toBe(160);
  begun.push(pay(small[0]!), pay(newcomer!));
  while (refused.length < 3) {
    server.clock.advance(5_000);
    await nextTurn();
  }
  gate.resolve();
  await Promise.all(begun);
  const expected = [
    [server.key, 429, "rate_limited", "1"],
    [small[0], 503, "unavailable", "1"],
    [newcomer, 503, "unavailable", "1"],
  ];
  expect(new Set(refused)).toEqual(new Set(expected));
  expect([held.length, held.filter((id) => id === server.merchant.id).length]).toEqual([160, 70]);
});
