import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createTestRail, railsOf } from "../testing/rail.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import type { TestServer } from "../testing/server.ts";
import { start } from "../testing/table.ts";

const METRICS_TOKEN = "a-token-for-the-metrics";
const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  [server, receiver] = await Promise.all([start(), startReceiver()]);
  onTestFinished(() => receiver.close());
});

const read = async (of = server) => (await of.request("GET", "/metrics", { key: null, headers })).text.split("\n");
/** Expects these lines of the metrics. */
const shows = async (of: TestServer, ...lines: (string | RegExp)[]) =>
  expect(await read(of)).toEqual(
    expect.arrayContaining(lines.map((line) => (line instanceof RegExp ? expect.stringMatching(line) : line))),
  );

test("requests are counted by operation and status, also without a response, and timed; no path becomes a label", async () => {
  for (const reference of ["once", "twice", "twice"]) await server.createPayout({ reference });
  await expect(server.createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
  await server.request("GET", "/v1/disbursements/nothing", { key: "wrong" });
  for (const path of ["/nothing", "/v1/disbursements/nothing"]) await server.request("GET", path);
  await shows(
    server,
    'http_requests_total{operation="createDisbursement",status="200"} 2',
    'http_requests_total{operation="createDisbursement",status="409"} 1',
    'http_requests_total{operation="createDisbursement",status="none"} 1',
    'http_requests_total{operation="verifyDisbursement",status="401"} 1',
    'http_request_duration_seconds_count{operation="createDisbursement"} 4',
    /^http_request_duration_seconds_sum\{operation="createDisbursement"\} 0\.\d+$/,
  );
  const before = await read();
  for (const path of ["/nothing-2", "/v1/disbursements/nothing-2"]) await server.request("GET", path);
  expect(await read()).toHaveLength(before.length);
  // Two servers in one process count apart.
  expect(String(await read(await start({ seed: 2 })))).not.toContain("verifyDisbursement");
});

test("commits, settlements and attempts are counted and timed, and how long waiting work has waited", async () => {
  const first = { webhookURL: receiver.url };
  receiver.respondWith(500);
  await server.createPayout(first);
  await server.pass(2_000);
  await shows(
    server,
    /^storage_commit_duration_seconds_count [1-9]/,
    /^storage_commit_items_sum [1-9]/,
    "settlement_delay_seconds_count 1",
    'webhook_attempts_total{result="failed"} 1',
    "webhook_deliveries_due 0",
    "webhook_deliveries_waiting 1",
    "webhook_oldest_due_seconds 0",
  );
  receiver.respondWith(410);
  await server.pass(60_000);
  receiver.respondWith(204);
  await server.createPayout(first);
  await server.pass(60_000);
  receiver.respondWith(500);
  await server.createPayout({ ...first, phoneNumber: "2257038102001" });
  await server.pass(0);
  server.service.drain();
  server.clock.advance(60_000);
  await shows(
    server,
    'webhook_attempts_total{result="delivered"} 1',
    'webhook_attempts_total{result="failed"} 2',
    'webhook_attempts_total{result="ended"} 1',
    'webhook_attempts_total{result="exhausted"} 0',
    "webhook_attempt_duration_seconds_count 4",
    "webhook_attempt_delay_seconds_count 4",
    "webhook_deliveries_due 1",
    "webhook_deliveries_waiting 0",
    // The first retry is due after 5 s ± 20 %.
    /^webhook_oldest_due_seconds 5[4-6]/,
  );
});

test("waiting work is counted once in five seconds for all scrapes, and left out while the storage does not answer", async () => {
  const count = vi.spyOn(server.storage, "readBacklog");
  await Promise.all([read(), read(), read()]);
  server.clock.advance(4_999);
  await shows(server, "webhook_deliveries_due 0");
  expect(count).toHaveBeenCalledTimes(1);
  count.mockRejectedValueOnce(new Error("disk I/O error"));
  server.clock.advance(1);
  server.telemetry.emit("storage", { working: false, message: "The storage is full." });
  await shows(server, "storage_up 0");
  expect(String(await read())).not.toContain("webhook_deliveries_due");

  const asked = Promise.withResolvers<void>();
  count.mockImplementationOnce(() => new Promise(() => asked.resolve()));
  server.clock.advance(5_000);
  const slow = read();
  await asked.promise;
  server.clock.advance(2_000);
  expect(String(await slow)).not.toContain("webhook_oldest_due_seconds");
});

test("calls to rails are counted by result, and the payments that wait, are unknown or in conflict", async () => {
  const rail = createTestRail();
  const live = await start({ env: { SANDBOX: "false", METRICS_TOKEN }, rails: railsOf(rail), seed: 3 });
  rail.answers.push({ status: "success" }, new Error("time-out"));
  const { reference } = (await live.createPayout()).body.data;
  await live.pass(0);
  await live.createPayout();
  await live.pass(0);
  const body = JSON.stringify({ reference, answer: { status: "failed" } });
  await fetch(`${live.url}/rails/test/webhooks`, { method: "POST", body });
  live.clock.advance(500);
  await shows(
    live,
    'rail_calls_total{rail="test",action="pay",result="success"} 1',
    'rail_calls_total{rail="test",action="pay",result="unknown"} 1',
    'rail_call_duration_seconds_count{rail="test"} 2',
    'rail_results_total{rail="test",result="final"} 1',
    'rail_results_total{rail="test",result="conflict"} 1',
    'rail_time_to_final_seconds_count{rail="test"} 1',
    'rail_payments_waiting{rail="test"} 1',
    'rail_payments_accepted{rail="test"} 0',
    'rail_conflicts_open{rail="test"} 1',
    'rail_oldest_unknown_seconds{rail="test"} 0.5',
  );
});
