import { afterEach, beforeEach, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/serve.ts";
import { startServer, type TestServer } from "../testing/server.ts";

const FINAL_IMMEDIATELY = "2257038102001";

let server: TestServer;
let healthy: Receiver;
/** A receiver that accepts webhooks, and at some time hangs. */
let moody: Awaited<ReturnType<typeof serve>>;
let hangs: boolean;
let hanging: number;

beforeEach(async () => {
  server = await startServer();
  healthy = await startReceiver();
  [hangs, hanging] = [false, 0];
  moody = await serve((request, response) => {
    if (hangs) hanging += 1;
    else request.resume().on("end", () => response.writeHead(204).end());
  });
});
afterEach(async () => {
  await moody.close();
  await server.close();
  await healthy.close();
});

const pay = (webhookURL: string, key = server.key) =>
  server.createPayout({ phoneNumber: FINAL_IMMEDIATELY, webhookURL }, { key });
const deliveries = async () => (await server.request("GET", "/sandbox/deliveries?limit=100")).body.data.items;

test("replays to a receiver that hangs take only its room, stay queued, and delay no webhook of others", async () => {
  const count = 90;
  await Promise.all(Array.from({ length: count }, () => pay(moody.url)));
  await expect.poll(async () => (await deliveries()).every(({ status }: any) => status === "delivered")).toBe(true);
  hangs = true;

  const replays = (await deliveries()).map(({ id }: { id: string }) =>
    server.request("POST", `/sandbox/deliveries/${id}/replay`),
  );

  const { key } = await server.addMerchant("Kofi");
  await pay(healthy.url, key);
  await expect.poll(() => healthy.received.length).toBe(1);
  // A merchant alone gets half of the room for one receiver.
  await expect.poll(() => hanging).toBe(56);
  // 35 replays of one merchant wait for their attempts.
  const answered: any[] = [];
  for (const replay of replays)
    void replay.then(
      (response: any) => answered.push(response),
      () => undefined,
    );
  await expect.poll(() => answered.length).toBe(count - 35);
  expect(answered.every(({ status, body }) => status === 200 && body.data.status === "pending")).toBe(true);
  expect(hanging).toBe(56);

  hangs = false;
  moody.disconnect();
  await Promise.all(replays);
  await expect
    .poll(async () => (await deliveries()).filter(({ status }: any) => status === "delivered").length)
    .toBe(count);
});
