// Balances and statements over HTTP (D95).
import { expect, test } from "vitest";
import { startServer } from "../testing/server.ts";

test("a statement has every change of its merchant with the balance after it, as JSON and CSV, of a period", async () => {
  const server = await startServer();
  const get = async (path: string) => (await server.request("GET", path)).body.data.items;
  const body = { currency: "XOF", available: 10_100, enforced: true };
  expect((await server.request("PUT", "/sandbox/balance", { body })).status).toBe(200);
  expect((await server.createPayout({ amount: 10_000 })).status).toBe(200);
  expect(await get("/v1/balances")).toEqual([{ currency: "XOF", available: 0, reserved: 10_100, enforced: true }]);
  await server.pass(2_000);
  const items = await get("/v1/statements");
  const changes = items.map(({ kind, amount, balance }: Record<string, unknown>) => [kind, amount, balance]);
  expect(changes).toEqual([
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
  expect(first.lines[2]).toBe(`2026-11-20T09:30:00.000Z,reserve,${items[1].reference},XOF,-10100,0`);
  const second = await rows(/^<(.+)>; rel="next"$/.exec(first.link!)![1]!);
  expect(second).toMatchObject({
    lines: [first.lines[0], expect.stringMatching(/,top-up,.+,10100,10100$/), ""],
    link: null,
  });
  expect(await get("/v1/statements?from=2026-11-20T09:30:00.001Z")).toEqual(items.slice(0, 1));
  expect(await get("/v1/statements?to=2026-11-20T09:30:00.001Z")).toEqual(items.slice(1));
  const { key } = await server.addMerchant("Other");
  for (const path of ["/v1/balances", "/v1/statements"])
    expect((await server.request("GET", path, { key })).body.data.items).toEqual([]);
  await server.close();
});
