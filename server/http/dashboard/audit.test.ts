import { afterEach, beforeEach, expect, test } from "vitest";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
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

test("the trail is in French for a browser that prefers it, also its details", async () => {
  const { storage, merchant } = server;
  await storage.insertKey(aKey(merchant.id, { name: "caisse", scopes: ["read"] }), "dashboard Ada");
  const filter = { createdAfter: Date.parse("2026-11-02T09:30:00Z") };
  await storage.startReplay({ id: "r", merchantId: merchant.id, filter, pace: 20, expected: 7 }, "dashboard Ada");
  const headers = { cookie: operator.cookie, "accept-language": "fr" };
  const { html } = await visit(server, `${area}/audit`, { headers });
  const rows = [...html.matchAll(/<td><bdi>(?:<a[^>]*>)?([^<]*)[^]*?<span class="under">([^<]*)</g)];
  expect(rows.slice(0, 2).map((row) => row.slice(1).map((text) => text.replaceAll("\u00a0", " ")))).toEqual([
    [
      "A lancé un renvoi de webhooks",
      "créés depuis : 02/11/2026 09:30:00 UTC · rythme : 20 par seconde · webhooks : 7",
    ],
    ["A créé la clé d’API « caisse »", "droits : read"],
  ]);
});

test("amounts have their sign and their currency", async () => {
  const { storage, merchant } = server;
  const change = { id: "bank-118", currency: "XOF", amount: -1_000_000, reason: "Bank" };
  await storage.proposeAdjustment(merchant.id, change, "dashboard Ada");
  const { html } = await operator.get(`${area}/audit`);
  expect(html.replaceAll("\u00a0", " ")).toContain("reference: bank-118 · amount: -XOF 10,000.00 · reason: Bank<");
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
  expect((await member.get("/audit")).headers.get("location")).toBe(`/dashboard/m/${merchant.id}/audit`);
});
