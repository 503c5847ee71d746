import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

test("a merchant sees its balances and its statement, and operators the balances of all", async () => {
  const { merchant } = server;
  const page = `/m/${merchant.id}/balances`;
  const kofi = await signedIn(server, { merchantId: merchant.id, name: "Kofi" });
  expect((await kofi.get(page)).html).toContain("Nothing was paid yet");
  const { reference } = (await server.createPayout({ amount: 10_000 })).body.data;
  const { html } = await kofi.get(page);
  for (const text of ["−XOF", "101.00", "Payout created", `/m/${merchant.id}/disbursements/${reference}"`])
    expect(html).toContain(text);
  expect((await kofi.get("/balances")).status).toBe(404);
  const { html: all } = await (await signedIn(server)).get("/balances");
  for (const text of [merchant.name, `${page}"`, "101.00"]) expect(all).toContain(text);
});
