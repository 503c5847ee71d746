// Balances and statements over HTTP (D95).
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const get = (path: string, key = server.key) => server.request("GET", path, { key });
const set = (body: object) => server.request("PUT", "/sandbox/balance", { body });

test("a sandbox practises insufficient funds: refused, nothing recorded, and the reference stays free", async () => {
  expect((await get("/v1/balances")).body.data).toEqual({ items: [] });
  expect((await set({ currency: "XOF", available: 10_099, enforced: true })).body.data.items).toEqual([
    { currency: "XOF", available: 10_099, reserved: 0, enforced: true },
  ]);
  const payout = { reference: "p1", amount: 10_000 };
  const refused = await server.createPayout(payout);
  expect([refused.status, refused.body.code]).toEqual([422, "insufficient_funds"]);
  expect((await get("/v1/disbursements")).body.data.items).toEqual([]);
  expect((await set({ currency: "XOF", available: 10_100, enforced: true })).status).toBe(200);
  expect((await server.createPayout(payout)).status).toBe(200);
  expect((await get("/v1/balances")).body.data.items).toEqual([
    { currency: "XOF", available: 0, reserved: 10_100, enforced: true },
  ]);
});

test("a statement has every change with the balance after it, as JSON and as CSV", async () => {
  await server.pass(2_000);
  const { items } = (await get("/v1/statements")).body.data;
  const changes = items.map(({ kind, amount, balance }: Record<string, unknown>) => [kind, amount, balance]);
  expect(changes).toEqual([
    ["capture", 0, 0],
    ["reserve", -10_100, 0],
    ["top-up", 1, 10_100],
    ["top-up", 10_099, 10_099],
  ]);
  const rows = async (path: string) => {
    const response = await fetch(server.url + path, { headers: { "x-api-key": server.key } });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    return { lines: (await response.text()).split("\r\n"), link: response.headers.get("link") };
  };
  const first = await rows("/v1/statements?format=csv&limit=2");
  expect(first.lines[0]).toBe("createdAt,kind,reference,currency,amount,balance");
  expect(first.lines[2]).toBe(`2026-11-20T09:30:00.000Z,reserve,${items[1].reference},XOF,-10100,0`);
  const second = await rows(/^<(.+)>; rel="next"$/.exec(first.link!)![1]!);
  expect(second.lines[2]).toMatch(/,top-up,.+,XOF,10099,10099$/);
  expect(second.link).toBeNull();
  const early = (await get("/v1/statements?from=2026-11-20T09:30:00.001Z")).body.data.items;
  expect(early).toEqual(items.slice(0, 1));
  expect((await get("/v1/statements?to=2026-11-20T09:30:00.001Z")).body.data.items).toEqual(items.slice(1));
});

test.each([
  ["/v1/statements?from=yesterday", 422],
  ["/v1/statements?format=pdf", 422],
  ["/v1/statements?cursor=x", 422],
  ["/v1/statements?limit=ten", 400],
])("GET %s returns %d", async (path, status) => {
  expect((await get(path)).status).toBe(status);
});

test("says what a time must look like", async () => {
  const { fields } = (await get("/v1/statements?from=yesterday")).body;
  expect(fields.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringMatching(/^from must be a UTC timestamp with milliseconds, for example /),
  ]);
});

test("merchants see only their own balances", async () => {
  const { key } = await server.addMerchant("Other");
  expect((await get("/v1/balances", key)).body.data.items).toEqual([]);
  expect((await get("/v1/statements", key)).body.data.items).toEqual([]);
});

test("a live service has no way to set a balance", async () => {
  const live = await startServer({ env: { SANDBOX: "false" } });
  const body = { currency: "XOF", available: 1, enforced: false };
  expect((await live.request("PUT", "/sandbox/balance", { body })).status).toBe(404);
  expect((await live.request("GET", "/v1/balances", { key: live.key })).status).toBe(200);
  await live.close();
});
