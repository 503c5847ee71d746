import { afterEach, beforeEach, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  server = await startServer();
  receiver = await startReceiver();
});
afterEach(async () => {
  await server.close();
  await receiver.close();
});

test("the audit trail names the key of a rotation and of a replay; reads and attempts are not actions", async () => {
  await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" });
  await server.pass(0);
  const { body } = await server.request("GET", "/sandbox/deliveries");
  const [{ id: delivery }] = body.data.items;
  await server.request("GET", "/sandbox/webhook-secret");
  await server.request("POST", "/sandbox/webhook-secret/rotate");
  expect((await server.request("POST", `/sandbox/deliveries/${delivery}/replay`)).status).toBe(200);
  expect((await server.request("POST", "/sandbox/deliveries/msg_nothing/replay")).status).toBe(404);

  const keyId = (await server.storage.listKeys())[0]!.id;
  const entry = { at: server.clock.now(), actor: `key ${keyId}`, merchantId: server.merchant.id };
  const { items } = await server.storage.listAudit({ limit: 10 });
  expect(items.slice(0, -2)).toEqual([
    { ...entry, action: "delivery.replay", details: { delivery, status: "delivered" } },
    { ...entry, action: "secret.rotate", details: {} },
  ]);
});

test("the audit trail names the key that moved the clock or reset the sandbox", async () => {
  const to = new Date(server.clock.now() + 3_600_000).toISOString();
  expect((await server.request("POST", "/sandbox/clock/advance", { body: { seconds: 60 } })).status).toBe(200);
  expect((await server.request("POST", "/sandbox/clock/advance", { body: { to } })).status).toBe(200);
  expect((await server.request("POST", "/sandbox/clock/advance", { body: { seconds: 1e9 } })).status).toBe(422);
  expect((await server.request("POST", "/sandbox/reset")).status).toBe(200);

  const [key] = await server.storage.listKeys();
  const entry = { at: server.clock.now(), actor: `key ${key!.id}`, merchantId: server.merchant.id };
  const { items } = await server.storage.listAudit({ limit: 3 });
  expect(items).toEqual([
    { ...entry, action: "sandbox.reset", details: {} },
    { ...entry, action: "sandbox.advance", details: { to } },
    { ...entry, action: "sandbox.advance", details: { to: new Date(server.clock.now() + 60_000).toISOString() } },
  ]);
});
