import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn, type Visitor } from "../../testing/dashboard.ts";
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
  const created = await visitor.post(`${path}/keys`);
  const [, key] = /<code id="new-key">(sk_\w{32})<\/code>/.exec(created.html)!;
  expect(created.html).toContain(`x-api-key: ${key}`);
  expect(await statusWith(key!)).toBe(200);
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "key.create" });

  const { html } = await visitor.get(path);
  expect(html).not.toContain(key);
  const { id } = (await server.storage.listKeys()).find(({ hint }) => hint === key!.slice(-4))!;
  expect(html).toContain(`<button class="danger" name="key" value="${id}">`);
  expect((await visitor.post(`${path}/keys/revoke`, { key: id })).status).toBe(303);
  expect(await statusWith(key!)).toBe(401);
  expect(await statusWith(server.key)).toBe(200);
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "key.revoke", details: { key: id } });
  expect((await visitor.get(path)).html).toContain("revoked");
});

test("the secret is on the page only after Reveal or Rotate", async () => {
  const { current } = await server.storage.readSecrets(server.merchant.id);
  expect((await visitor.get(path)).html.includes(current)).toBe(false);
  expect((await visitor.post(`${path}/secret/reveal`)).html.includes(current)).toBe(true);
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "secret.reveal" });

  const rotated = await visitor.post(`${path}/secret/rotate`);
  const secrets = await server.storage.readSecrets(server.merchant.id);
  expect(secrets.current).not.toBe(current);
  expect([secrets.current, current].map((secret) => rotated.html.includes(secret))).toEqual([true, true]);
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "secret.rotate" });
  expect((await visitor.get(path)).html).not.toContain("whsec_");
});

test("sets and removes the default address for webhooks", async () => {
  const url = "https://shop.example/hooks?token=t";
  expect((await visitor.post(`${path}/default-webhook`, { url })).status).toBe(303);
  expect(await addressOf()).toBe(url);
  expect((await visitor.get(path)).html).toContain(`value="${url}"`);
  await visitor.post(`${path}/default-webhook`, { url: "" });
  expect(await addressOf()).toBeUndefined();
  expect(await lastAction()).toMatchObject({ actor: "dashboard Kofi", action: "default-webhook.remove" });
});

test.each(["ftp://shop.example", "nonsense", `https://shop.example/${"x".repeat(2_048)}`])(
  "refuses an address to which nothing can be sent: %.20s",
  async (url) => {
    expect((await visitor.post(`${path}/default-webhook`, { url })).status).toBe(422);
  },
);
