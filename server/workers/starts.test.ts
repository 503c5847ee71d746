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
  event: { id: `event-${index}`, merchantId: merchant.id, body: "{}" },
  url: `http://receiver-${index}.example/`,
  secrets: { current: "whsec_AA==", previous: [] },
  merchant,
  token: 1,
  step: 0,
})) as unknown as ClaimedDelivery[];

test("of many claimed deliveries, a few attempts start per turn of the event loop, so that requests get in between", async () => {
  const storage: Pick<DeliveryQueue, "promoteDue" | "readyLanes" | "claimDeliveries"> = {
    promoteDue: async () => 0,
    readyLanes: async () => claims.map((_, index) => ({ merchantId: merchant.id, host: `receiver-${index}.example` })),
    claimDeliveries: async () => claims,
  };
  const perTurn: number[] = [0];
  const worker = createDeliveryWorker({
    storage: storage as DeliveryQueue,
    clock: createFakeClock(),
    sender: {
      send() {
        perTurn[perTurn.length - 1]! += 1;
        return new Promise<never>(() => {});
      },
    },
    chaos: createChaosSwitch(() => 0, false),
    fairness: createFairness({ perHost: 1, total: 100, now: () => 0 }),
    chance: () => 0,
    log: pino({ level: "silent" }),
    emit: silent,
    span: () => "00f067aa0ba902b7",
    stopping: new AbortController().signal,
    onEnd: () => {},
  });
  let isDone = false;
  const countTurns = () => {
    perTurn.push(0);
    if (!isDone) setImmediate(countTurns);
  };
  setImmediate(countTurns);

  expect(await worker.begin()).toBe(claims.length);

  isDone = true;
  expect(perTurn.reduce((sum, started) => sum + started)).toBe(claims.length);
  expect(Math.max(...perTurn)).toBe(2);
});
