import { afterEach, beforeEach, expect, test } from "vitest";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
let server: TestServer;
let receiver: Receiver;
beforeEach(async () => {
  [server, receiver] = await Promise.all([startServer(), startReceiver()]);
});
afterEach(() => Promise.all([server.close(), receiver.close()]));

test.each(["2257038102001", "2257038102473", "2257038102089"])(
  "the webhooks of a payout to %s belong to the trace of its request",
  async (phoneNumber) => {
    receiver.respondWith(500);
    await server.createPayout({ webhookURL: receiver.url, phoneNumber }, { headers });
    await server.pass(2_000);
    receiver.respondWith(204);
    await server.pass(60_000);
    const sent = receiver.received.map(({ headers: { traceparent } }) => String(traceparent));
    expect(sent).toHaveLength(2);
    for (const each of sent) expect(each).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    const spans = sent.map((each) => each.split("-")[2]);
    expect(new Set([...spans, CALLER]).size).toBe(3);
  },
);

test("so do those of a checkout, whoever ends it", async () => {
  const { reference } = (await server.createCheckout({ webhookURL: receiver.url }, { headers })).body.data;
  await server.request("POST", `/sandbox/checkouts/${reference}/finish`, { body: { outcome: "success" } });
  await server.pass(0);
  expect(receiver.received.map(({ headers: { traceparent } }) => String(traceparent).split("-")[1])).toEqual([TRACE]);
});

test("the log has the trace of a request; requests and attempts are reported with their places in it", async () => {
  const traces: unknown[] = [];
  server.telemetry.on("request", ({ trace }) => traces.push(trace));
  server.telemetry.on("attempt", ({ trace }) => traces.push(trace));
  await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" }, { headers });
  await server.pass(0);
  const [request, attempt] = traces as { spanId: string }[];
  expect(request).toEqual({ traceId: TRACE, parentId: CALLER, spanId: expect.any(String), flags: "01" });
  expect(attempt).toEqual({ traceId: TRACE, parentId: request!.spanId, spanId: expect.any(String), flags: "01" });
  expect(server.logged().find(({ route }) => route === "/v1/disbursements")).toMatchObject({ traceId: TRACE });
});

test.each([undefined, "00-not-a-trace-01", `00-${"0".repeat(32)}-${CALLER}-01`])(
  "without a valid context (%s) the request works, and nothing is traced",
  async (traceparent) => {
    const sent = { headers: traceparent === undefined ? {} : { traceparent } };
    const payout = { webhookURL: receiver.url, phoneNumber: "2257038102001" };
    expect((await server.createPayout(payout, sent)).status).toBe(200);
    await server.pass(0);
    expect(receiver.received[0]!.headers).not.toHaveProperty("traceparent");
    expect(JSON.stringify(server.logged())).not.toContain("traceId");
  },
);

test("no response and no webhook's body shows the trace", async () => {
  const created = await server.createPayout({ webhookURL: receiver.url, phoneNumber: "2257038102001" }, { headers });
  await server.pass(0);
  const { reference } = created.body.data;
  const found = await server.request("GET", `/v1/disbursements/${reference}`);
  const events = await server.request("GET", "/sandbox/events");
  const texts = [created.text, found.text, events.text, receiver.received[0]!.text];
  for (const text of texts) expect(text).not.toContain(TRACE);
});
