import { pino } from "pino";
import { beforeEach, expect, test } from "vitest";
import { createChaosSwitch } from "../domain/outcomes.ts";
import type { ClaimedDelivery, DeliveryQueue } from "../domain/deliveries.ts";
import { InProgress } from "../domain/in-progress.ts";
import { createFakeClock, type FakeClock } from "../testing/clock.ts";
import type { AttemptResult, Message } from "../webhooks/send.ts";
import { createDeliveryWorker } from "./deliveries.ts";
import type { QueueWorker } from "./queue-worker.ts";

/** The lease of a claim (D47). */
const LEASE_MS = 3_000;
const claim = {
  lane: { merchantId: "m", host: "receiver.example" },
  id: "event-1",
  body: "{}",
  url: "http://receiver.example/",
  secrets: { current: "whsec_AA==", previous: [] },
  merchant: { id: "m", clockOffset: 0 },
  token: 1,
  step: 0,
  attempts: [],
} as unknown as ClaimedDelivery;

let clock: FakeClock;
let worker: QueueWorker;
/** The attempts in progress, each with the function that makes its receiver respond. */
let attempts: { signal: AbortSignal; respond(): void }[];
let recorded: number;
let storage: Pick<DeliveryQueue, "promoteDue" | "readyLanes" | "claimDeliveries" | "renewClaims" | "recordAttempt">;

/** Makes an attempt that lasts until its receiver responds or its signal is aborted. */
const send = (_: Message, { signal } = new AbortController()) =>
  new Promise<AttemptResult>((resolve) => {
    const result = { sentAt: clock.now(), latencyMs: 0 };
    signal.addEventListener("abort", () => resolve({ ...result, error: "aborted" }));
    attempts.push({ signal, respond: () => resolve({ ...result, httpStatus: 204 }) });
  });

beforeEach(() => {
  clock = createFakeClock();
  attempts = [];
  recorded = 0;
  storage = {
    promoteDue: async () => 0,
    readyLanes: async () => [{ merchantId: "m", host: "receiver.example" }],
    claimDeliveries: async () => [claim],
    renewClaims: async () => undefined,
    recordAttempt: async () => {
      recorded += 1;
      return { isValid: true, hasMadeReady: false };
    },
  };
  worker = createDeliveryWorker({
    storage: storage as DeliveryQueue,
    clock,
    sender: { send },
    chaos: createChaosSwitch(() => 0, false),
    attempts: new InProgress({ total: 100, perHost: 1 }, clock),
    chance: () => 0,
    log: pino({ level: "silent" }),
    stopping: new AbortController().signal,
    emit: () => undefined,
  });
});

/** Lets time pass as the service does: with a renewal every second, and a search for lapsed claims more often. */
async function pass(milliseconds: number) {
  for (let passed = 0; passed < milliseconds; passed += 250) {
    clock.advance(250);
    if (passed % 1_000 === 0) await worker.renew().catch(() => undefined);
    worker.endLapsed();
  }
}

test("an attempt ends before its claim lapses if the claim cannot be renewed, and is not recorded", async () => {
  storage.renewClaims = () => Promise.reject(new Error("the database is away"));
  await worker.begin();
  await pass(LEASE_MS / 2);
  expect(attempts[0]!.signal.aborted).toBe(false);
  await pass(LEASE_MS / 2 - 250);
  expect(attempts[0]!.signal.aborted).toBe(true);
  await worker.idle();
  expect(recorded).toBe(0);
});

test("an attempt whose claim is renewed lasts as long as its receiver takes", async () => {
  await worker.begin();
  await pass(3 * LEASE_MS);
  expect(attempts[0]!.signal.aborted).toBe(false);
  attempts[0]!.respond();
  await worker.idle();
  expect(recorded).toBe(1);
});

test("a renewal counts from when it was sent, because the storage may respond late", async () => {
  await worker.begin();
  storage.renewClaims = async () => clock.advance(LEASE_MS);
  await worker.renew();
  worker.endLapsed();
  expect(attempts[0]!.signal.aborted).toBe(true);
});

test("a claim that arrives too late is not attempted", async () => {
  storage.claimDeliveries = async () => {
    clock.advance(LEASE_MS);
    return [claim];
  };
  expect(await worker.begin()).toBe(0);
  expect(attempts).toEqual([]);
});
