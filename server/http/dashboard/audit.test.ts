import { afterEach, beforeEach, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { aKey } from "../../testing/storage/fixtures.ts";

let server: TestServer;
let operator: Visitor;
let area: string;
beforeEach(async () => {
  server = await startServer();
  operator = await signedIn(server, { name: "Grace" });
  area = `/m/${server.merchant.id}`;
});
afterEach(() => server.close());

test("the settings lead to what was done to a key, and by whom", async () => {
  const { storage, merchant } = server;
  const [till, other] = [aKey(merchant.id, { name: "till" }), aKey(merchant.id, { name: "other" })];
  await storage.insertKey(till, "dashboard Ada");
  await storage.insertKey(other, "dashboard Ada");
  await storage.revokeKey(till.id, server.clock.now(), "dashboard Kofi");
  expect((await operator.get(`${area}/settings`)).html).toContain(`href="/dashboard${area}/audit?key=${till.id}"`);

  const { html } = await operator.get(`${area}/audit?key=${till.id}`);
  expect(html).toContain("Only what was done to the API key <bdi>“till”</bdi>.");
  const rows = [...html.matchAll(/<td><bdi>([^<]*)<\/bdi>[^]*?<td class="who"><bdi[^>]*>([^<]*)</g)];
  expect(rows.map(([, what, who]) => [what, who])).toEqual([
    ["Revoked the API key “till”", expect.stringContaining("Kofi")],
    ["Created the API key “till”", expect.stringContaining("Ada")],
  ]);
});

test("a key that the merchant does not have is not found", async () => {
  const { status, html } = await operator.get(`${area}/audit?key=unknown`);
  expect([status, html]).toEqual([404, expect.stringContaining("There is no API key with this id.")]);
});

test("operators see what was done with all merchants, and with none", async () => {
  const { storage } = server;
  const { merchant } = await server.addMerchant("Kofi & Sons");
  const till = aKey(merchant.id, { name: "till" });
  await storage.insertKey(till, "dashboard Ada");
  await storage.revokeKey(till.id, server.clock.now(), "dashboard Kofi");
  const { html } = await operator.get("/audit");
  const text = html
    .slice(html.indexOf("<main"))
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ");
  expect(text).toMatch(/Revoked the API key “till” Kofi &amp; Sons .* Created the API key “till” Kofi &amp; Sons /);
  expect(text).toMatch(/ Signed in [^A-Z]*Grace, operator/);
  expect(html).toContain(`href="/dashboard/m/${merchant.id}/audit"`);
  const member = await signedIn(server, { merchantId: merchant.id });
  expect((await member.get("/audit")).status).toBe(404);
});
