import { afterEach, beforeEach, expect, test } from "vitest";
import { parseMetrics, valueOf } from "../testing/metrics.ts";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver()]);
});
afterEach(() => Promise.all([server.close(), receiver.close()]));

const read = async () => (await server.request("GET", "/metrics", { key: null })).text;
const value = async (name: string, labels?: Record<string, string>) =>
  valueOf(parseMetrics(await read()), name, labels);

test("requests are counted by operation and status, and timed by operation", async () => {
  await server.createPayout();
  await server.createPayout({ reference: "twice" });
  await server.createPayout({ reference: "twice" });
  await server.request("GET", "/v1/disbursements/nothing", { key: "wrong" });
  const operation = "createDisbursement";
  expect(await value("http_requests_total", { operation, status: "200" })).toBe(2);
  expect(await value("http_requests_total", { operation, status: "409" })).toBe(1);
  expect(await value("http_requests_total", { operation: "verifyDisbursement", status: "401" })).toBe(1);
  expect(await value("http_request_duration_seconds_count", { operation })).toBe(3);
  expect(await value("http_request_duration_seconds_sum", { operation })).toBeGreaterThan(0);
});

test("a lost connection counts as a request without a status", async () => {
  await expect(server.createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
  expect(await value("http_requests_total", { operation: "createDisbursement", status: "none" })).toBe(1);
});

test("commits, settlements and attempts are counted and timed", async () => {
  const before = await value("storage_commit_duration_seconds_count");
  const items = await value("storage_commit_items_sum");
  await server.createPayout({ webhookURL: receiver.url });
  expect(await value("storage_commit_duration_seconds_count")).toBe(before! + 1);
  expect(await value("storage_commit_items_sum")).toBe(items! + 1);

  receiver.respondWith(500);
  await server.pass(2_000);
  expect(await value("settlement_delay_seconds_count")).toBe(1);
  expect(await value("webhook_attempts_total", { result: "failed" })).toBe(1);
  receiver.respondWith(410);
  await server.pass(60_000);
  await server.createPayout({ webhookURL: receiver.url });
  receiver.respondWith(204);
  await server.pass(60_000);
  for (const [result, count] of Object.entries({ delivered: 1, failed: 1, ended: 1, exhausted: 0 })) {
    expect.soft(await value("webhook_attempts_total", { result }), result).toBe(count);
  }
  expect(await value("webhook_attempt_duration_seconds_count")).toBe(3);
  expect(await value("webhook_attempt_delay_seconds_count")).toBe(3);
});

test("the waiting work is counted, and how long it has waited", async () => {
  receiver.respondWith(500);
  await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" });
  await server.pass(0);
  server.service.drain();
  const names = ["webhook_deliveries_due", "webhook_deliveries_waiting", "webhook_oldest_due_seconds"];
  const waiting = async () => {
    const samples = parseMetrics(await read());
    return names.map((name) => valueOf(samples, name));
  };
  expect(await waiting()).toEqual([0, 1, 0]);
  server.clock.advance(60_000);
  const [due, others, age] = await waiting();
  expect([due, others]).toEqual([1, 0]);
  // The first retry is due after 5 s ± 20 %.
  expect(age).toBeGreaterThanOrEqual(54);
  expect(age).toBeLessThanOrEqual(56);
});

test("the storage counts the waiting work at most every five seconds, for all scrapes together", async () => {
  const { readBacklog } = server.storage;
  let reads = 0;
  server.storage.readBacklog = () => {
    reads += 1;
    return readBacklog();
  };
  await Promise.all([read(), read(), read()]);
  server.clock.advance(4_999);
  await read();
  expect(reads).toBe(1);
  server.clock.advance(1);
  await read();
  expect(reads).toBe(2);
});

test("while the storage fails or does not respond, the other metrics are there and the waiting work is absent", async () => {
  expect(await value("webhook_deliveries_due")).toBe(0);
  server.storage.readBacklog = () => Promise.reject(new Error("disk I/O error"));
  server.clock.advance(5_000);
  server.telemetry.emit("storage", { working: false, message: "The storage is full." });
  expect(await value("webhook_deliveries_due")).toBeUndefined();
  expect(await value("storage_up")).toBe(0);

  server.storage.readBacklog = () => new Promise(() => undefined);
  server.clock.advance(5_000);
  const slow = read();
  await expect
    .poll(
      async () => {
        server.clock.advance(2_000);
        return Promise.race([slow.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
      },
      { interval: 1 },
    )
    .toBe(true);
  expect(valueOf(parseMetrics(await slow), "webhook_oldest_due_seconds")).toBeUndefined();
});

test("calls to rails are counted by result, and the payments that wait, are unknown or in conflict", async () => {
  const rail = createTestRail();
  const env = { SANDBOX: "false", METRICS_TOKEN: "a-token-for-the-metrics" };
  const live = await startServer({ env, rails: railsOf(rail), seed: 3 });
  rail.answers.push({ status: "success" }, new Error("time-out"));
  const { reference } = (await live.createPayout()).body.data;
  await live.pass(0);
  await live.createPayout();
  await live.pass(0);
  const answer = { status: "failed" } as const;
  await fetch(`${live.url}/rails/test/webhooks`, { method: "POST", body: JSON.stringify({ reference, answer }) });
  live.clock.advance(500);
  const headers = { authorization: `Bearer ${env.METRICS_TOKEN}` };
  const { text } = await live.request("GET", "/metrics", { key: null, headers });
  const found = (name: string, labels = {}) => valueOf(parseMetrics(text), name, { rail: "test", ...labels });
  expect(found("rail_calls_total", { action: "pay", result: "success" })).toBe(1);
  expect(found("rail_calls_total", { action: "pay", result: "unknown" })).toBe(1);
  expect(found("rail_call_duration_seconds_count")).toBe(2);
  expect(found("rail_results_total", { result: "final" })).toBe(1);
  expect(found("rail_time_to_final_seconds_count")).toBe(1);
  expect(found("rail_results_total", { result: "conflict" })).toBe(1);
  expect([found("rail_payments_waiting"), found("rail_payments_accepted")]).toEqual([1, 0]);
  expect([found("rail_conflicts_open"), found("rail_oldest_unknown_seconds")]).toEqual([1, 0.5]);
  await live.close();
});

test("the time until a rail has ended a payment is measured, also if the rail notifies it", async () => {
  const rail = createTestRail({ status: "pending" });
  const env = { SANDBOX: "false", METRICS_TOKEN: "a-token-for-the-metrics" };
  const live = await startServer({ env, rails: railsOf(rail), seed: 3 });
  const { reference } = (await live.createPayout()).body.data;
  await live.pass(0);
  live.clock.advance(4_000);
  const body = JSON.stringify({ reference, answer: { status: "success" } });
  for (const _ of [1, 2]) await fetch(`${live.url}/rails/test/webhooks`, { method: "POST", body });
  const headers = { authorization: `Bearer ${env.METRICS_TOKEN}` };
  const metrics = parseMetrics((await live.request("GET", "/metrics", { key: null, headers })).text);
  const found = (name: string) => valueOf(metrics, `rail_time_to_final_seconds_${name}`, { rail: "test" });
  expect([found("count"), found("sum")]).toEqual([1, 4]);
  await live.close();
});

test("no request adds labels of its own", async () => {
  const count = async () => parseMetrics(await read()).length;
  for (const path of ["/nothing", "/v1/disbursements/nothing"]) await server.request("GET", path);
  await read();
  const before = await count();
  for (let number = 0; number < 50; number += 1) {
    await server.request("GET", `/nothing-${number}`);
    await server.request("GET", `/v1/disbursements/nothing-${number}`);
  }
  expect(await count()).toBe(before);
});

test("two servers in one process count apart", async () => {
  const other = await startServer({ seed: 2 });
  await server.request("GET", "/v1/disbursements/nothing");
  const { text } = await other.request("GET", "/metrics", { key: null });
  expect(text).not.toContain("verifyDisbursement");
  await other.close();
});
