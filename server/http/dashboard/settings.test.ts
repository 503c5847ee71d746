// What a merchant's people set up, and the audit trail in which it can be read.
import { afterAll, describe, expect, test } from "vitest";
import { ServiceError } from "../../domain/errors.ts";
import { timestamp } from "../../domain/representation.ts";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";

const { server, id, area, ada, kofi, close } = await openDashboard();
const { storage } = server;
const path = `${area}/settings`;
afterAll(close);

const statusWith = async (key: string) => (await server.request("GET", "/sandbox/clock", { key })).status;
const keyNamed = async (wanted: string) => (await storage.listKeysOf(id)).find(({ name }) => name === wanted)!;
const newKey = (fields: Record<string, string>) => kofi.post(`${path}/keys`, fields);
const keyIn = ({ text }: { text: string }) => /test_\w{32}/.exec(text)![0];

describe("an API key", () => {
  test("is shown once, works, and is refused after it is revoked", async () => {
    const key = keyIn(await says(newKey({ name: " Payroll & Söhne " }), 200, "It is shown only now."));
    expect(await statusWith(key)).toBe(200);
    const { id: keyId } = await keyNamed("Payroll & Söhne");
    const { hidden } = await says(kofi.get(path), 200, "Payroll & Söhne", keyId, not(key));
    expect(hidden("/keys/revoke")).toHaveProperty("key");
    await done(kofi.post(`${path}/keys/revoke`, { key: keyId }));
    expect([await statusWith(key), await statusWith(server.key)]).toEqual([401, 200]);
    await says(kofi.get(path), 200, "revoked", `audit?key=${keyId}`);
    const history = /Revoke the API key “Payroll & Söhne”.* Kofi.*Create an API key “Payroll & Söhne”/;
    await says(kofi.get(`${area}/audit`), 200, history, not(keyId));
    const only = await says(ada.get(`${area}/audit?key=${keyId}`), 200, "Show everything");
    expect(only.rows).toHaveLength(2);
    await says(ada.get(`${area}/audit?key=unknown`), 200, "Nothing found");
  });

  test("is shown even if its page fails, with what was recorded", async () => {
    const { readSecrets } = storage;
    storage.readSecrets = () => Promise.reject(new ServiceError("unavailable", "The server is overloaded."));
    const page = await newKey({ name: "Lost page" });
    storage.readSecrets = readSecrets;
    expect([page.status, await statusWith(keyIn(page))]).toEqual([500, 200]);
    expect(page.text).toContain("Recorded before this error: Create an API key, name: Lost page");
    expect(page.link("See what")).toBe(`${area}/audit`);
  });

  test("gets the scopes that are ticked, and the page shows them", async () => {
    const key = keyIn(await says(newKey({ name: "Plug-in", read: "yes", checkout: "yes" }), 200, "may read, checkout"));
    expect(await statusWith(key)).toBe(403);
    expect((await server.createCheckout({}, { key })).status).toBe(200);
    expect((await server.createPayout({}, { key })).body.code).toBe("key_not_permitted");
    expect(await trail(server)).toMatchObject([{ details: { scopes: "read,checkout" } }]);
  });

  test("has limits, which are set, shown and removed, and refuse a payout beyond them", async () => {
    const key = keyIn(await newKey({ name: "Limited" }));
    const { id: keyId } = await keyNamed("Limited");
    const create = async (amount: number) => (await server.createPayout({ amount }, { key })).body;
    const save = (fields: Record<string, string>) => kofi.post(`${path}/keys/limits`, { key: keyId, ...fields });
    await done(save({ perPayment: "XOF:500, GHS:7", countries: "CI" }));
    await says(kofi.get(path), 200, 'value="XOF:500,GHS:7"');
    const details = { key: keyId, perPayment: "XOF:500,GHS:7", countries: "CI" };
    expect(await trail(server)).toMatchObject([{ actor: "merchant Kofi", action: "key.limit", details }]);
    expect(await create(501)).toMatchObject({ statusCode: 422, code: "limit_exceeded" });
    await says(kofi.post(`${path}/keys/limits`, { key: "unknown" }), 404);
    expect([(await create(500)).statusCode, (await create(501)).statusCode]).toEqual([200, 422]);
    await done(save({}));
    expect(await create(501)).toMatchObject({ statusCode: 200 });
  });

  test("is created once, also if its form is sent again, as by a reload", async () => {
    const fields = { name: "Reloaded", ...(await kofi.get(path)).hidden("/settings/keys") };
    const key = keyIn(await newKey(fields));
    const before = await storage.listKeysOf(id);
    await says(newKey(fields), 409, "This form has created its key", not(key));
    expect(await storage.listKeysOf(id)).toEqual(before);
  });

  test("shows when it was last used", async () => {
    const { merchant, key } = await server.addMerchant("Used");
    const page = `/m/${merchant.id}/settings`;
    await says(ada.get(page), 200, "never used");
    const at = timestamp(server.clock.now());
    await server.request("GET", "/v1/disbursements", { key });
    server.clock.advance(60_000);
    await expect.poll(async () => (await ada.get(page)).html).toContain(`datetime="${at}"`);
  });
});

test("the secret is on the page only after Reveal or Rotate, and rotated once by a form", async () => {
  const { current } = await storage.readSecrets(id);
  const { hidden } = await says(kofi.get(path), 200, not("whsec_"));
  await says(kofi.post(`${path}/secret/reveal`), 200, current);
  const rotated = await kofi.post(`${path}/secret/rotate`, hidden("/rotate"));
  const secrets = await storage.readSecrets(id);
  expect(secrets.current).not.toBe(current);
  for (const secret of [secrets.current, current]) expect(rotated.text).toContain(secret);
  // A browser that loads the page again sends the form again.
  const again = kofi.post(`${path}/secret/rotate`, hidden("/rotate"));
  await says(again, 409, "its page was out of date", not(secrets.current));
  expect(await storage.readSecrets(id)).toEqual(secrets);
  await says(kofi.get(path), 200, not("whsec_"));
});

test("the default address for webhooks is set and removed", async () => {
  const save = (url: string) => kofi.post(`${path}/default-webhook`, { url });
  const url = "https://shop.example/hooks?token=t";
  await done(save(url));
  expect((await storage.findMerchant(id))!.webhookUrl).toBe(url);
  await says(kofi.get(path), 200, `value="${url}"`);
  await done(save(""));
  expect((await storage.findMerchant(id))!.webhookUrl).toBeUndefined();
});

describe("the audit trail", () => {
  test("is in French for a browser that prefers it, also its details, and has amounts with sign and currency", async () => {
    const { merchant } = await server.addMerchant("Kofi & Sons");
    await storage.adjustBalance(
      merchant.id,
      { id: "bank-118", currency: "XOF", amount: -1_000_000, reason: "Bank" },
      "dashboard Ada",
      true,
    );
    const filter = { createdAfter: Date.parse("2026-11-02T09:30:00Z") };
    const replay = { id: "r", merchantId: merchant.id, filter, pace: 20, expected: 7 };
    await storage.startReplay(replay, "dashboard Esi");
    const at = `/m/${merchant.id}/audit`;
    await says(ada.get(at), 200, "reference: bank-118 · amount: -XOF 10,000.00 · reason: Bank");
    const details = "créés depuis : 02/11/2026 09:30:00 UTC · rythme : 20 par seconde · webhooks : 7";
    await says(ada.get(at, { "accept-language": "fr" }), 200, "Lancer un renvoi de webhooks", details);
    const { rows } = await says(ada.get("/audit"), 200, `href="/dashboard${at}"`);
    expect(rows[0]!.join()).toMatch(/Kofi & Sons.*Esi/);
    await says(ada.get("/audit"), 200, /Sign in .*Ada, operator/);
  });
});
