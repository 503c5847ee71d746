import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startReceiver } from "../testing/receiver.ts";
import { serve } from "../testing/serve.ts";
import { startServer } from "../testing/server.ts";
import { addDelivery, concurrently } from "../testing/storage/fixtures.ts";

test.each<[string, (index: number, silent: string) => string]>([
  ["a receiver that never responds", (_, silent) => silent],
  ["900 dead hosts", (index) => `http://dead-${index % 900}.example/`],
])("1,100 webhooks of one merchant to %s delay none of another merchant's 1,000 (D13, D34)", async (_, addressOf) => {
  const nameServer = Promise.withResolvers<string[]>();
  const server = await startServer({ lookup: () => nameServer.promise });
  const [silent, healthy] = [await serve(() => {}), await startReceiver()];
  onTestFinished(async () => {
    nameServer.resolve([]);
    await silent.close();
    await server.close();
    await healthy.close();
  });
  const { merchant } = await server.addMerchant("Kofi & Sons");
  const ended: string[] = [];
  server.telemetry.on("attempt", ({ merchantId, status }) => void ended.push(`${merchantId} ${status}`));
  const insert = (merchantId: string, webhookURL: string) => addDelivery(server.storage, merchantId, { webhookURL });
  await concurrently(1_100, (index) => insert(server.merchant.id, addressOf(index, silent.url)));
  const { deliveries } = server.service;
  while ((await deliveries.begin()) > 0);
  await concurrently(1_000, () => insert(merchant.id, healthy.url));

  // The others are delivered before any attempt of the first merchant has ended.
  while (ended.length < 1_000) {
    await deliveries.begin();
    await nextTurn();
  }
  expect(new Set(ended)).toEqual(new Set([`${merchant.id} delivered`]));
  expect(healthy.received).toHaveLength(1_000);
});
