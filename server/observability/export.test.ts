import { afterEach, beforeEach, expect, test } from "vitest";
import { startCollector, type Collector } from "../testing/collector.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
/** A batch of this size is sent at once, so no more than this many spans wait. */
const BATCH = 512;
const MOST_WAITING = 2_048;
const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
let server: TestServer | undefined;
let collector: Collector;
let receiver: Receiver;
beforeEach(async () => {
  [collector, receiver] = await Promise.all([startCollector(), startReceiver()]);
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await Promise.all([collector.close(), receiver.close()]);
});

async function start(env: Record<string, string> = {}): Promise<TestServer> {
  server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } });
  return server;
}
/** Ends the export. Returns the spans that the collector has, except spans of commits. */
async function exported() {
  await server!.traces!.close(60_000);
  return collector.spans.filter(({ name }) => name !== "commit");
}
const named = (name: string) => collector.spans.filter((span) => span.name === name);

test("request, settlement and attempts of a payout are one trace, whose ids the receiver gets", async () => {
  const { createPayout, merchant, pass } = await start();
  receiver.respondWith(500);
  const { headers: sent } = await createPayout({ webhookURL: receiver.url }, { headers });
  await pass(2_000);
  receiver.respondWith(204);
  await pass(60_000);
  const spans = await exported();

  expect(spans.map(({ name, kind, status: { code } }) => [name, kind, code])).toEqual([
    ["createDisbursement", 2, 0],
    ["settlement", 1, 0],
    ["webhook attempt", 3, 2],
    ["webhook attempt", 3, 0],
  ]);
  const [request, settlement, ...attempts] = spans;
  expect(request).toMatchObject({
    traceId: TRACE,
    parentSpanId: CALLER,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/v1/disbursements",
      "http.response.status_code": 200,
      "request.id": sent["x-request-id"],
      "merchant.id": merchant.id,
    },
  });
  expect(settlement!.attributes).toEqual({ "merchant.id": merchant.id, "settlement.delay_ms": 0 });
  for (const { traceId, parentSpanId } of [settlement!, ...attempts]) {
    expect([traceId, parentSpanId]).toEqual([TRACE, request!.spanId]);
  }
  const received = receiver.received.map(({ headers: { traceparent } }) => traceparent);
  expect(received).toEqual(attempts.map(({ spanId }) => `00-${TRACE}-${spanId}-01`));
  const webhook = { "webhook.id": receiver.received[0]!.headers["webhook-id"] };
  expect(attempts[0]!.attributes).toMatchObject({
    ...webhook,
    "webhook.status": "pending",
    "http.response.status_code": 500,
  });
  expect(attempts[1]!.attributes).toMatchObject({ ...webhook, "webhook.status": "delivered" });
});

test("times are those of the server's clock", async () => {
  const { clock, createPayout } = await start();
  const begun = BigInt(clock.now()) * 1_000_000n;
  await createPayout({}, { headers });
  const [{ startTimeUnixNano, endTimeUnixNano } = { startTimeUnixNano: "", endTimeUnixNano: "" }] = await exported();
  expect(BigInt(endTimeUnixNano)).toBe(begun);
  expect(BigInt(startTimeUnixNano)).toBeLessThan(begun);
  expect(BigInt(startTimeUnixNano)).toBeGreaterThan(begun - 60_000_000_000n);
});

test("a request without a trace begins one, which its webhook continues", async () => {
  const { createPayout, pass } = await start();
  await createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" });
  await pass(0);
  const [request, attempt] = await exported();
  expect(request!.parentSpanId).toBeUndefined();
  expect(attempt).toMatchObject({ traceId: request!.traceId, parentSpanId: request!.spanId });
  expect(receiver.received[0]!.headers.traceparent).toBe(`00-${request!.traceId}-${attempt!.spanId}-01`);
});

test("each commit is a trace of its own", async () => {
  const { createPayout } = await start();
  await createPayout({}, { headers });
  await exported();
  const commits = named("commit");
  expect(commits.length).toBeGreaterThan(0);
  for (const { traceId, attributes } of commits) {
    expect(traceId).not.toBe(TRACE);
    expect(attributes).toEqual({ "commit.items": expect.any(Number) });
  }
});

test("failures of the server are errors, refusals are not, and probes are left out", async () => {
  const { createPayout, request } = await start();
  await createPayout({ phoneNumber: "2257038102500" });
  await expect(createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
  await request("GET", "/v1/disbursements/nothing");
  await request("GET", "/nothing");
  // Requests of load balancers and Prometheus would fill the collector.
  for (const probe of ["/healthz", "/readyz", "/metrics"]) await request("GET", probe);
  const spans = await exported();
  expect(spans.map(({ name, status: { code } }) => [name, code])).toEqual([
    ["createDisbursement", 2],
    ["createDisbursement", 2],
    ["verifyDisbursement", 0],
    ["GET unknown", 0],
  ]);
});

test("the sampler decides which traces are sent, and a caller's decision counts first", async () => {
  const { createPayout, pass } = await start({ OTEL_TRACES_SAMPLER: "parentbased_always_off" });
  await createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" });
  await createPayout({}, { headers: { traceparent: `00-${TRACE}-${CALLER}-00` } });
  await createPayout({}, { headers });
  await pass(0);
  expect((await exported()).map(({ name, traceId }) => [name, traceId])).toEqual([["createDisbursement", TRACE]]);
  expect(named("commit")).toEqual([]);
  expect(receiver.received[0]!.headers).not.toHaveProperty("traceparent");
});

test("the service is named, and the collector gets the headers", async () => {
  const { createPayout } = await start({
    OTEL_SERVICE_NAME: "payouts",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=ci",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20token",
  });
  await createPayout();
  await exported();
  expect(collector.headers.authorization).toBe("Bearer token");
  expect(collector.resource).toEqual({
    "service.name": "payouts",
    "service.version": expect.any(String),
    "deployment.environment": "ci",
  });
});

test("no span contains a key, secret, phone number, reference of the merchant or body", async () => {
  const { createPayout, pass, key, storage, merchant, request } = await start();
  await createPayout({
    reference: "order-of-ada",
    phoneNumber: "2257038102001",
    webhookURL: `${receiver.url}?token=x1y2z3`,
  });
  await request("GET", "/v1/disbursements/2257038102001");
  await request("GET", "/sandbox/webhook-secret");
  await pass(0);
  await exported();
  const { current } = await storage.readSecrets(merchant.id);
  for (const secret of [key, current, "2257038102001", "order-of-ada", "x1y2z3"]) {
    expect(collector.text()).not.toContain(secret);
  }
});

test("a collector that fails is logged once, and once more when it works again", async () => {
  const { createPayout, traces, telemetry, logged } = await start();
  const lines = () =>
    logged()
      .filter(({ msg }) => /the collector/.test(msg))
      .map(({ level, msg }) => [level, msg]);
  const work = (count: number) => {
    for (let index = 0; index < count; index += 1) telemetry.emit("commit", { items: 1, durationMs: 1 });
  };
  collector.respondWith(400);
  for (let requests = 1; requests <= 2; requests += 1) {
    work(BATCH);
    await expect.poll(() => collector.requests).toBe(requests);
  }
  expect((await createPayout()).status).toBe(200);
  collector.respondWith(200);
  await traces!.close(60_000);
  expect(lines()).toEqual([
    [50, "the collector does not accept traces; they are lost"],
    [30, "the collector accepts traces again"],
  ]);
});

test("while the collector is away the server works, and holds a bounded number of spans", async () => {
  const { createPayout, telemetry, traces, clock } = await start();
  collector.respondWith(0);
  for (let index = 0; index < 20 * BATCH; index += 1) telemetry.emit("commit", { items: 1, durationMs: 1 });
  expect((await createPayout()).status).toBe(200);
  collector.respondWith(200);
  const closing = traces!.close(1_000);
  await expect.poll(() => collector.spans.length).toBeGreaterThan(0);
  clock.advance(1_000);
  await closing;
  expect(collector.spans.length).toBeLessThanOrEqual(MOST_WAITING);
});

test("a stop waits for a silent collector no longer than it may", async () => {
  const { createPayout, traces, clock } = await start();
  collector.respondWith(0);
  await createPayout();
  let closed = false;
  const closing = traces!.close(800).then(() => (closed = true));
  clock.advance(799);
  await new Promise(setImmediate);
  expect(closed).toBe(false);
  clock.advance(1);
  await closing;
});

test("nothing is loaded and no trace begins when the variables are not set", async () => {
  server = await startServer();
  expect(server.traces).toBeUndefined();
  await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" });
  await server.pass(0);
  expect(receiver.received[0]!.headers).not.toHaveProperty("traceparent");
});
