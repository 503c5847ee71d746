import { pino } from "pino";
import { expect, test } from "vitest";
import { createChaosSwitch } from "../domain/chaos.ts";
import type { ClaimedDelivery, DeliveryQueue } from "../domain/deliveries.ts";
import { silent } from "../domain/telemetry.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createFairness } from "../webhooks/fairness.ts";
import { createDeliveryWorker } from "./deliveries.ts";

const merchant = { id: "m", epoch: 0, clockOffset: 0 };
const claims = Array.from({ length: 9 }, (_, index) => ({
  lane: { merchantId: merchant.id, host: `receiver-${index}.example` },
  id: `event-${index}`,
  event: { id: `event-${index}`, merchantId: merchant.id, body: "{}" },
  url: `http://receiver-${index}.example/`,
  secrets: { current: "whsec_AA==", previous: [] },
  merchant,
  token: 1,
  step: 0,
})) as unknown as ClaimedDelivery[];

test("attempts of claimed deliveries begin when it is their merchant's turn", async () => {
  const storage: Pick<DeliveryQueue, "promoteDue" | "readyLanes" | "claimDeliveries"> = {
    promoteDue: async () => 0,
    readyLanes: async () => claims.map((_, index) => ({ merchantId: merchant.id, host: `receiver-${index}.example` })),
    claimDeliveries: async () => claims,
  };
  const turns: (() => void)[] = [];
  let sent = 0;
  const worker = createDeliveryWorker({
    storage: storage as DeliveryQueue,
    clock: createFakeClock(),
    sender: {
      send() {
        sent += 1;
        return new Promise<never>(() => {});
      },
    },
    turns: { take: () => new Promise((resolve) => turns.push(resolve)) },
    chaos: createChaosSwitch(() => 0, false),
    fairness: createFairness({ perHost: 1, total: 100, now: () => 0 }),
    chance: () => 0,
    log: pino({ level: "silent" }),
    emit: silent,
    span: () => "00f067aa0ba902b7",
    stopping: new AbortController().signal,
    onEnd: () => {},
  });

  expect(await worker.begin()).toBe(claims.length);
  expect([turns.length, sent]).toEqual([claims.length, 0]);
  turns[0]!();
  await new Promise(setImmediate);
  expect(sent).toBe(1);
});
