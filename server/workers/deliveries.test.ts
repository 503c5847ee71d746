import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serve } from "../testing/serve.ts";
import { startServer, type TestServer } from "../testing/server.ts";
import { claimAll } from "../testing/storage/fixtures.ts";

let server: TestServer;
let receiver: Awaited<ReturnType<typeof serve>>;
/** Emits "held" with the pending response of each webhook request. */
let arrivals: EventEmitter;
let arrived: number;

beforeEach(async () => {
  server = await startServer();
  arrivals = new EventEmitter();
  arrived = 0;
  receiver = await serve((request, response) => {
    arrived += 1;
    request.resume().on("end", () => arrivals.emit("held", response));
  });
});
afterEach(async () => {
  await receiver.close();
  await server.close();
});

/** Creates a payout that is final immediately. Returns the pending response to its webhook. */
async function heldAttempt(): Promise<ServerResponse> {
  const held = once(arrivals, "held");
  await server.createPayout({ phoneNumber: "2257038102001", webhookURL: receiver.url });
  const [response] = (await held) as [ServerResponse];
  return response;
}
const delivery = async () => (await server.request("GET", "/sandbox/deliveries")).body.data.items[0];

test("an attempt in progress is not repeated after its lease has expired", async () => {
  const response = await heldAttempt();
  const { deliveries } = server.service;
  // Time jumps past the end of the lease, as it does when the system clock is corrected or a laptop wakes up.
  server.clock.advance(61_000);
  expect(await deliveries.begin()).toBe(0);
  const replay = await server.request("POST", `/sandbox/deliveries/${(await delivery()).id}/replay`);
  expect(replay.status).toBe(409);
  response.writeHead(204).end();
  await deliveries.idle();
  expect([arrived, (await delivery()).status]).toEqual([1, "delivered"]);
});

test("an attempt that a stop prevents is due at once for another process", async () => {
  await heldAttempt();
  expect(await claimAll(server.storage)).toEqual([]);
  let isStopped = false;
  const stopped = server.service.stop(0).then(() => (isStopped = true));
  while (!isStopped) {
    server.clock.advance(0);
    await nextTurn();
  }
  await stopped;
  expect(await claimAll(server.storage)).toMatchObject([{ step: 0 }]);
});

test("the delay before a retry starts when the previous attempt has ended (D13)", async () => {
  const response = await heldAttempt();
  server.clock.advance(12_000);
  response.writeHead(500).end();
  await server.service.deliveries.idle();
  const { attempts, nextAttemptAt } = await delivery();
  expect(attempts[0].latencyMs).toBe(12_000);
  const wait = Date.parse(nextAttemptAt) - Date.parse(attempts[0].at);
  expect(wait).toBeGreaterThanOrEqual(12_000 + 4_000);
  expect(wait).toBeLessThanOrEqual(12_000 + 6_000);
});

test("a replay whose delivery a reset deletes meanwhile says that it was recorded", async () => {
  const response = await heldAttempt();
  response.writeHead(204).end();
  await server.service.deliveries.idle();
  const held = once(arrivals, "held");
  const replay = server.request("POST", `/sandbox/deliveries/${(await delivery()).id}/replay`);
  const [again] = (await held) as [ServerResponse];
  expect((await server.request("POST", "/sandbox/reset")).status).toBe(200);
  again.writeHead(204).end();
  const { status, body } = await replay;
  expect(status).toBe(500);
  expect(body.message).toContain("Recorded before this error: delivery.replay");
});
