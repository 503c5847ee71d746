// Which trace the work of a payment belongs to, and what a collector gets.
import type { IncomingHttpHeaders } from "node:http";
import { json } from "node:stream/consumers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { serve } from "../testing/http.ts";
import type { TestServer } from "../testing/server.ts";
import { start as startServer } from "../testing/table.ts";

type Attributes = { key: string; value: Record<string, unknown> }[];
const toObject = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

type Collector = Awaited<ReturnType<typeof startCollector>>;

/** A collector of traces on a free port, which takes OTLP over HTTP in JSON. */
async function startCollector() {
  const { url, close } = await serve(async (request, response) => {
    const body = (await json(request)) as any;
    collector.requests += 1;
    if (collector.status === 200) collector.accepted.push({ headers: request.headers, body });
    if (collector.status !== 0) response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  const collector = {
    url,
    close,
    /** The status of all further responses; 0 sends none. */
    status: 200,
    /** How many requests have been received. */
    requests: 0,
    accepted: [] as { headers: IncomingHttpHeaders; body: any }[],
    /** The spans that were accepted, with their attributes as an object. */
    spans: (): any[] =>
      collector.accepted
        .flatMap(({ body }) => body.resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ spans }) => spans)
        .map((span) => ({ ...span, attributes: toObject(span.attributes) })),
  };
  return collector;
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
/** A batch of this size is sent at once, so no more than this many spans wait. */
const BATCH = 512;
const MOST_WAITING = 2_048;
const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
const AT_ONCE = "2257038102001";
let server: TestServer;
let collector: Collector;
let receiver: Receiver;
beforeEach(async () => {
  [collector, receiver] = await Promise.all([startCollector(), startReceiver()]);
  onTestFinished(async () => void (await Promise.all([collector.close(), receiver.close()])));
});

/** Starts a server that sends its spans to the collector. */
const start = async (env: Record<string, string> = {}): Promise<TestServer> =>
  (server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env } }));
/** Ends the export. Returns the spans that the collector has, except spans of commits. */
async function exported() {
  await server.traces!.close(60_000);
  return collector.spans().filter(({ name }) => name !== "commit");
}
const named = (name: string) => collector.spans().filter((span) => span.name === name);
const work = (count: number) => {
  for (let index = 0; index < count; index += 1) server.telemetry.emit("commit", { items: 1, durationMs: 1 });
};
const contextsSent = () => receiver.received.map(({ headers: { traceparent } }) => traceparent);

test("request, settlement and attempts of a payout are one trace, whose ids the receiver gets; each commit is another", async () => {
  const { clock, createPayout, merchant, key, storage, request, pass } = await start({
    OTEL_SERVICE_NAME: "payouts",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=ci",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20token",
  });
  const begun = BigInt(clock.now()) * 1_000_000n;
  receiver.respondWith(500);
  const webhookURL = `${receiver.url}?token=x1y2z3`;
  const { headers: sent, body } = await createPayout({ reference: "order-of-ada", webhookURL }, { headers });
  await pass(2_000);
  receiver.respondWith(204);
  await pass(60_000);
  await request("GET", "/sandbox/webhook-secret");
  await request("GET", "/v1/disbursements/2257038102473");
  const spans = (await exported()).filter(({ traceId }) => traceId === TRACE);

  expect(spans.map(({ name, kind, status: { code } }) => [name, kind, code])).toEqual([
    ["createDisbursement", 2, 0],
    ["settlement", 1, 0],
    ["webhook attempt", 3, 2],
    ["webhook attempt", 3, 0],
  ]);
  const [first, settlement, ...attempts] = spans;
  expect(first).toMatchObject({
    parentSpanId: CALLER,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/v1/disbursements",
      "http.response.status_code": 200,
      "request.id": sent["x-request-id"],
      "merchant.id": merchant.id,
    },
  });
  // By the server's clock.
  const took = BigInt(first.endTimeUnixNano) - BigInt(first.startTimeUnixNano);
  expect([BigInt(first.endTimeUnixNano), took > 0n, took < 60_000_000_000n]).toEqual([begun, true, true]);
  expect(settlement.attributes).toEqual({ "merchant.id": merchant.id, "settlement.delay_ms": 0 });
  for (const { parentSpanId } of [settlement, ...attempts]) expect(parentSpanId).toBe(first.spanId);
  expect(contextsSent()).toEqual(attempts.map(({ spanId }) => `00-${TRACE}-${spanId}-01`));
  const webhook = { "webhook.id": receiver.received[0]!.headers["webhook-id"] };
  expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
    { ...webhook, "webhook.status": "pending", "http.response.status_code": 500 },
    { ...webhook, "webhook.status": "delivered" },
  ]);
  expect(named("commit").length).toBeGreaterThan(0);
  for (const { traceId, attributes } of named("commit"))
    expect([traceId === TRACE, attributes]).toEqual([false, { "commit.items": expect.any(Number) }]);

  const [{ headers: given, body: batch }] = collector.accepted as [Collector["accepted"][number]];
  expect(given.authorization).toBe("Bearer token");
  const service = { "service.name": "payouts", "service.version": expect.any(String) };
  const resource = toObject(batch.resourceSpans[0].resource.attributes);
  expect(resource).toEqual({ ...service, "deployment.environment": "ci" });
  const { current } = await storage.readSecrets(merchant.id);
  for (const secret of [key, current, "2257038102473", "order-of-ada", body.data.reference, "x1y2z3"])
    expect(JSON.stringify(collector.accepted)).not.toContain(secret);
});

test("a request without a trace begins one, which its webhook continues", async () => {
  const { createPayout, pass } = await start();
  await createPayout({ webhookURL: receiver.url, phoneNumber: AT_ONCE });
  await pass(0);
  const [request, attempt] = await exported();
  expect(request.parentSpanId).toBeUndefined();
  expect(attempt).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId });
  expect(contextsSent()).toEqual([`00-${request.traceId}-${attempt.spanId}-01`]);
});

test("failures of the server are errors, refusals are not, and probes, which are many, are left out", async () => {
  const { createPayout, request } = await start();
  await createPayout({ phoneNumber: "2257038102500" });
  await expect(createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
  for (const path of ["/v1/disbursements/nothing", "/nothing", "/healthz", "/readyz", "/metrics"])
    await request("GET", path);
  expect((await exported()).map(({ name, status: { code } }) => [name, code])).toEqual([
    ["createDisbursement", 2],
    ["createDisbursement", 2],
    ["verifyDisbursement", 0],
    ["GET unknown", 0],
  ]);
});

test("the sampler decides which traces are sent, and a caller's decision counts first", async () => {
  const { createPayout, pass } = await start({ OTEL_TRACES_SAMPLER: "parentbased_always_off" });
  await createPayout({ webhookURL: receiver.url, phoneNumber: AT_ONCE });
  await createPayout({}, { headers: { traceparent: `00-${TRACE}-${CALLER}-00` } });
  await createPayout({}, { headers });
  await pass(0);
  expect((await exported()).map(({ name, traceId }) => [name, traceId])).toEqual([["createDisbursement", TRACE]]);
  expect(named("commit")).toEqual([]);
  expect(contextsSent()).toEqual([undefined]);
});

test("a collector that fails is logged once, and once more when it works again", async () => {
  const { createPayout, traces, logged } = await start();
  collector.status = 400;
  for (let requests = 1; requests <= 2; requests += 1) {
    work(BATCH);
    await expect.poll(() => collector.requests).toBe(requests);
  }
  expect((await createPayout()).status).toBe(200);
  collector.status = 200;
  await traces!.close(60_000);
  const lines = logged().filter(({ msg }) => /the collector/.test(msg));
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [50, "the collector does not accept traces; they are lost"],
    [30, "the collector accepts traces again"],
  ]);
});

test("while the collector is away the server works, holds a bounded number of spans, and stops in time", async () => {
  const { createPayout, traces, clock } = await start();
  collector.status = 0;
  work(20 * BATCH);
  await expect.poll(() => collector.requests).toBeGreaterThan(0);
  expect((await createPayout()).status).toBe(200);
  // The request that waits keeps the export from ending.
  collector.status = 200;
  let closed = false;
  const closing = traces!.close(800).then(() => (closed = true));
  await expect.poll(() => collector.spans().length).toBeGreaterThan(0);
  clock.advance(799);
  await new Promise(setImmediate);
  expect(closed).toBe(false);
  clock.advance(1);
  await closing;
  expect(collector.spans().length).toBeLessThanOrEqual(MOST_WAITING);
});

describe("without a collector", () => {
  beforeEach(async () => {
    server = await startServer();
  });

  test.each([AT_ONCE, "2257038102473", "2257038102089", "checkout"])(
    "the webhooks of a payment (%s) belong to the trace of its request, which nothing else shows",
    async (phoneNumber) => {
      const reported: { spanId: string }[] = [];
      server.telemetry.on("request", ({ trace }) => trace && reported.push(trace));
      server.telemetry.on("attempt", ({ trace }) => trace && reported.push(trace));
      const payment = { webhookURL: receiver.url };
      receiver.respondWith(500);
      const isCheckout = phoneNumber === "checkout";
      const created = isCheckout
        ? await server.createCheckout(payment, { headers })
        : await server.createPayout({ ...payment, phoneNumber }, { headers });
      const { reference } = created.body.data;
      if (isCheckout)
        await server.request("POST", `/sandbox/checkouts/${reference}/finish`, { body: { outcome: "success" } });
      await server.pass(2_000);
      receiver.respondWith(204);
      await server.pass(60_000);
      const [request, ...attempts] = reported;
      expect(request).toEqual({ traceId: TRACE, parentId: CALLER, spanId: expect.any(String), flags: "01" });
      expect(attempts).toEqual(
        [1, 2].map(() => ({ traceId: TRACE, parentId: request!.spanId, spanId: expect.any(String), flags: "01" })),
      );
      expect(contextsSent()).toEqual(attempts.map(({ spanId }) => `00-${TRACE}-${spanId}-01`));
      expect(new Set([CALLER, ...reported.map(({ spanId }) => spanId)]).size).toBe(4);
      expect(server.logged().find(({ method }) => method === "POST")).toMatchObject({ traceId: TRACE });

      const kind = isCheckout ? "checkouts" : "disbursements";
      const found = await server.request("GET", `/v1/${kind}/${reference}`);
      const events = await server.request("GET", "/sandbox/events");
      for (const text of [created.text, found.text, events.text, receiver.received[0]!.text])
        expect(text).not.toContain(TRACE);
    },
  );

  test.each([undefined, "00-not-a-trace-01", `00-${"0".repeat(32)}-${CALLER}-01`])(
    "without a valid context (%s) the request works, and nothing is traced",
    async (traceparent) => {
      expect(server.traces).toBeUndefined();
      const sent = { headers: traceparent === undefined ? {} : { traceparent } };
      const payout = { webhookURL: receiver.url, phoneNumber: AT_ONCE };
      expect((await server.createPayout(payout, sent)).status).toBe(200);
      await server.pass(0);
      expect(contextsSent()).toEqual([undefined]);
      expect(JSON.stringify(server.logged())).not.toContain("traceId");
    },
  );
});
