import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceError } from "../../domain/errors.ts";
import { createKey } from "../../domain/merchants.ts";
import { timestamp } from "../../domain/representation.ts";
import { MOST_KEYS } from "../../domain/keys.ts";
import { signedIn, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let visitor: Visitor;
let path: string;
beforeAll(async () => {
  server = await startServer();
  visitor = await signedIn(server, { merchantId: server.merchant.id, name: "Kofi" });
  path = `/m/${server.merchant.id}/settings`;
});
afterAll(() => server.close());

const statusWith = async (key: string) => (await server.request("GET", "/sandbox/clock", { key })).status;
const addressOf = async () => (await server.storage.findMerchant(server.merchant.id))!.webhookUrl;
const lastAction = async () => (await server.storage.listAudit({ merchantId: server.merchant.id, limit: 1 })).items[0];

test("a key is shown once, works, and is refused after it is revoked", async () => {
  const created = await visitor.post(`${path}/keys`, { name: " Payroll & Söhne " });
  const [, key] = /<code id="new-key">(test_\w{32})<\/code>/.exec(created.html)!;
  expect(created.html).toContain(`x-api-key: ${key}`);
  expect(await statusWith(key!)).toBe(200);
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "key.create" });

  const { html } = await visitor.get(path);
  expect(html).not.toContain(key);
  expect(html).toContain("Payroll &amp; Söhne</bdi>");
  const { id } = (await server.storage.listKeys()).find(({ hint }) => hint === key!.slice(-4))!;
  expect(html).toContain(`<input type="hidden" name="key" value="${id}">`);
  expect((await visitor.post(`${path}/keys/revoke`, { key: id })).status).toBe(303);
  expect(await statusWith(key!)).toBe(401);
  expect(await statusWith(server.key)).toBe(200);
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "key.revoke", details: { key: id } });
  expect((await visitor.get(path)).html).toContain("revoked");
  const { html: trail } = await visitor.get(path.replace("settings", "audit"));
  expect(trail).toMatch(/Revoked the API key “Payroll &amp; Söhne”.*Kofi.*Created the API key “Payroll &amp; Söhne”/s);
  expect(trail).not.toContain(id);
});

test("a key is shown even if its page fails, with what was recorded", async () => {
  const { readSecrets } = server.storage;
  server.storage.readSecrets = () => Promise.reject(new ServiceError("unavailable", "The server is overloaded."));
  const { status, html } = await visitor.post(`${path}/keys`, { name: "Lost page" });
  server.storage.readSecrets = readSecrets;
  expect([status, await statusWith(/<code>(test_\w{32})<\/code>/.exec(html)![1]!)]).toEqual([500, 200]);
  expect(html).toMatch(/Recorded before this error: Created the API key, name: Lost page.*\/audit">See what/s);
});

test("a key gets the scopes that are ticked, and the page shows them", async () => {
  const created = await visitor.post(`${path}/keys`, { name: "Plug-in", read: "yes", checkout: "yes" });
  const [, key] = /<code id="new-key">(test_\w{32})<\/code>/.exec(created.html)!;
  expect(created.html).toContain("may read, checkout<");
  expect(await statusWith(key!)).toBe(403);
  expect((await server.createCheckout({}, { key: key! })).status).toBe(200);
  expect((await server.createPayout({}, { key: key! })).body.code).toBe("key_not_permitted");
  expect(await lastAction()).toMatchObject({ action: "key.create", details: { scopes: "read,checkout" } });
});

test("a key's limits are set, shown and removed, and a payout beyond them is refused", async () => {
  const key = await createKey(server.merchants, server.merchant.id, { name: "Limited" });
  const { id } = (await server.storage.listKeys()).find(({ name }) => name === "Limited")!;
  const create = async (amount: number) => (await server.createPayout({ amount }, { key })).body;
  const save = (fields: Record<string, string>) => visitor.post(`${path}/keys/limits`, { key: id, ...fields });
  expect((await save({ perPayment: "XOF:500, GHS:7", countries: "CI" })).status).toBe(303);
  expect((await visitor.get(path)).html).toContain(
    'name="perPayment" type="text" maxlength="4000" autocomplete="off" value="XOF:500,GHS:7"',
  );
  expect(await create(501)).toMatchObject({
    statusCode: 422,
    code: "limit_exceeded",
    message: "A limit of this API key refuses this payout: per payment XOF:500,GHS:7. Nothing was recorded.",
  });
  expect(await create(500)).toMatchObject({ statusCode: 200 });
  const details = { key: id, perPayment: "XOF:500,GHS:7", countries: "CI" };
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "key.limit", details });
  for (const perDay of ["500", "XOF:", "XOF:1.5", "XOF:1,XOF:2", "xof:1", "XOF:99999999999999999"])
    expect((await save({ perDay })).status).toBe(422);
  expect((await visitor.post(`${path}/keys/limits`, { key: "unknown" })).status).toBe(404);
  expect(await create(501)).toMatchObject({ code: "limit_exceeded" });
  expect((await save({})).status).toBe(303);
  expect(await create(501)).toMatchObject({ statusCode: 200 });
});

test("a form that is sent again, as by a reload, creates no second key", async () => {
  const [, key] = /name="key" value="([^"]+)">\s*<button class="primary">Create an API key/.exec(
    (await visitor.get(path)).html,
  )!;
  const fields = { name: "Reloaded", key: key! };
  expect((await visitor.post(`${path}/keys`, fields)).html).toContain('id="new-key"');
  const before = await server.storage.listKeysOf(server.merchant.id);
  const again = await visitor.post(`${path}/keys`, fields);
  expect(again.html).not.toContain('id="new-key"');
  expect(again.html).toMatch(/The key “<bdi>Reloaded<\/bdi>” \(….{4}\) was created already/);
  expect(await server.storage.listKeysOf(server.merchant.id)).toEqual(before);
});

test.each(["", "x".repeat(101), "a\u0007b"])("refuses the name %j for a key", async (name) => {
  const before = await server.storage.listKeysOf(server.merchant.id);
  expect((await visitor.post(`${path}/keys`, { name })).status).toBe(422);
  expect(await server.storage.listKeysOf(server.merchant.id)).toEqual(before);
});

test("shows when a key was last used, within a minute and without a write for each request", async () => {
  const used = await server.addMerchant("Used");
  const operator = await signedIn(server);
  const page = async () => (await operator.get(`/m/${used.merchant.id}/settings`)).html;
  expect(await page()).toContain("never used");
  for (let index = 0; index < 3; index++) await server.request("GET", "/v1/disbursements", { key: used.key });
  const at = timestamp(server.clock.now());
  let writes = 0;
  const off = server.telemetry.on("commit", () => (writes += 1));
  await server.request("GET", "/v1/disbursements", { key: used.key });
  expect(writes).toBe(0);
  off();
  expect(await page()).toContain("never used");
  server.clock.advance(60_000);
  await expect.poll(page).toContain(`<time datetime="${at}">${at.slice(0, 10)} `);
  expect(await page()).not.toContain("never used");
});

test(`refuses more than ${MOST_KEYS} active keys, and says what to do`, async () => {
  const full = await server.addMerchant("Full");
  const names = Array.from({ length: MOST_KEYS - 1 }, (_, index) => `key ${index}`);
  await Promise.all(names.map((name) => createKey(server.merchants, full.merchant.id, { name })));
  const operator = await signedIn(server);
  const refused = await operator.post(`/m/${full.merchant.id}/settings/keys`, { name: "one more" });
  expect(refused.status).toBe(422);
  expect(refused.html).toContain(`The merchant has ${MOST_KEYS} API keys, which is the most. Revoke a key`);
  const { html } = await operator.get(`/m/${full.merchant.id}/settings`);
  expect(html).toContain("key 98</bdi>");
  expect(html).not.toContain("one more");
});

test("the secret is on the page only after Reveal or Rotate", async () => {
  const { current } = await server.storage.readSecrets(server.merchant.id);
  expect((await visitor.get(path)).html.includes(current)).toBe(false);
  expect((await visitor.post(`${path}/secret/reveal`)).html.includes(current)).toBe(true);
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "secret.reveal" });

  const [, replaces] = /secret\/rotate".*?name="replaces" value="([^"]+)"/s.exec((await visitor.get(path)).html)!;
  const rotated = await visitor.post(`${path}/secret/rotate`, { replaces: replaces! });
  const secrets = await server.storage.readSecrets(server.merchant.id);
  expect(secrets.current).not.toBe(current);
  expect([secrets.current, current].map((secret) => rotated.html.includes(secret))).toEqual([true, true]);
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "secret.rotate" });
  // A browser that loads the page again sends the form again.
  const again = await visitor.post(`${path}/secret/rotate`, { replaces: replaces! });
  expect([again.status, again.html]).toEqual([409, expect.stringContaining("its page was out of date")]);
  expect(again.html).not.toContain(secrets.current);
  expect(await server.storage.readSecrets(server.merchant.id)).toEqual(secrets);
  expect((await visitor.get(path)).html).not.toContain("whsec_");
});

test("sets and removes the default address for webhooks", async () => {
  const url = "https://shop.example/hooks?token=t";
  expect((await visitor.post(`${path}/default-webhook`, { url })).status).toBe(303);
  expect(await addressOf()).toBe(url);
  expect((await visitor.get(path)).html).toContain(`value="${url}"`);
  await visitor.post(`${path}/default-webhook`, { url: "" });
  expect(await addressOf()).toBeUndefined();
  expect(await lastAction()).toMatchObject({ actor: "merchant Kofi", action: "default-webhook.remove" });
});

test.each(["ftp://shop.example", "nonsense", `https://shop.example/${"x".repeat(2_048)}`])(
  "refuses an address to which nothing can be sent: %.20s",
  async (url) => {
    expect((await visitor.post(`${path}/default-webhook`, { url })).status).toBe(422);
  },
);
