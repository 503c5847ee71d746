import { afterEach, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/serve.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let healthy: Receiver;
/** A receiver that accepts connections and never responds. */
let silent: Awaited<ReturnType<typeof serve>>;

afterEach(async () => {
  await silent.close();
  await server.close();
  await healthy.close();
});

test("1,000 deliveries to a receiver that never responds do not delay 1,000 to another (D13)", async () => {
  server = await startServer();
  healthy = await startReceiver();
  silent = await serve(() => undefined);
  const finalImmediately = "2257038102001";
  for (const webhookURL of [silent.url, healthy.url]) {
    const payout = () => server.createPayout({ phoneNumber: finalImmediately, webhookURL });
    for (let made = 0; made < 1_000; made += 100) await Promise.all(Array.from({ length: 100 }, payout));
  }

  await expect.poll(() => healthy.received.length).toBe(1_000);

  const { body } = await server.request("GET", "/sandbox/deliveries?status=delivered&limit=100");
  const urls = new Set(body.data.items.map(({ url }: { url: string }) => url));
  expect(urls).toEqual(new Set([healthy.url]));
});
