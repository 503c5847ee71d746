import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let healthy: Receiver;
let silent: Server;

afterEach(async () => {
  silent.closeAllConnections();
  silent.close();
  await server.close();
  await healthy.close();
});

/** A receiver that accepts connections and never responds. */
async function startSilentReceiver(): Promise<Server> {
  const receiver = createServer(() => {});
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  return receiver;
}

test("1,000 deliveries to a receiver that never responds do not delay 1,000 to another (D13)", async () => {
  server = await startServer();
  healthy = await startReceiver();
  silent = await startSilentReceiver();
  const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const finalImmediately = "2257038102001";
  for (const webhookURL of [silentUrl, healthy.url]) {
    const payout = () => server.createPayout({ phoneNumber: finalImmediately, webhookURL });
    for (let made = 0; made < 1_000; made += 100) await Promise.all(Array.from({ length: 100 }, payout));
  }

  await expect.poll(() => healthy.received.length).toBe(1_000);

  const { body } = await server.request("GET", "/sandbox/deliveries?status=delivered&limit=100");
  const urls = new Set(body.data.items.map(({ url }: { url: string }) => url));
  expect(urls).toEqual(new Set([healthy.url]));
});
