import { expect, test } from "vitest";
import type { TelemetryEvents } from "../domain/telemetry.ts";
import { startReceiver } from "../testing/receiver.ts";
import { startServer, type TestServer } from "../testing/server.ts";

/** Collects the events of these names, in order. */
function collect(server: TestServer, ...names: (keyof TelemetryEvents)[]) {
  const events: object[] = [];
  for (const name of names) server.telemetry.on(name, (event) => events.push({ name, ...event }));
  return events;
}

test("a request is reported with its operation, also if it is refused", async () => {
  const server = await startServer();
  const events = collect(server, "request");
  const ids = [];
  for (const [path, key] of [
    ["/v1/disbursements/nothing", server.key],
    ["/v1/disbursements/nothing", null],
    ["/healthz", null],
    ["/nothing", null],
  ] as const)
    ids.push((await server.request("GET", path, { key })).headers["x-request-id"]);
  const common = { name: "request", method: "GET", durationMs: expect.any(Number), client: "127.0.0.0/24" };
  const verify = { ...common, route: "/v1/disbursements/:reference", operationId: "verifyDisbursement" };
  expect(events).toEqual([
    { ...verify, requestId: ids[0], status: 404, merchantId: server.merchant.id },
    { ...verify, requestId: ids[1], status: 401 },
    { ...common, route: "/healthz", requestId: ids[2], status: 200 },
    { ...common, route: "unknown", requestId: ids[3], status: 404 },
  ]);
  await server.close();
});

test("a payout is reported from its request to the end of its delivery", async () => {
  const [receiver, server] = await Promise.all([startReceiver(500), startServer()]);
  const events = collect(server, "request", "settled", "attempt");
  await server.createPayout({ webhookURL: receiver.url });
  await server.pass(2_000);
  receiver.respondWith(200);
  await server.pass(60_000);
  const { id: merchantId } = server.merchant;
  const attempt = { name: "attempt", merchantId, eventId: expect.any(String), durationMs: 0, counted: true };
  expect(events).toMatchObject([
    { name: "request", operationId: "createDisbursement", status: 200 },
    { name: "settled", merchantId, delayMs: 0 },
    { ...attempt, status: "pending", httpStatus: 500, delayMs: 0 },
    { ...attempt, status: "delivered", httpStatus: 200, delayMs: expect.any(Number) },
  ]);
  await Promise.all([server.close(), receiver.close()]);
});

test("a subscriber that throws breaks no request, and one line of the log says so", async () => {
  const server = await startServer();
  for (const name of ["request", "commit", "settled", "attempt"] as const) {
    server.telemetry.on(name, () => {
      throw new Error(`broken by ${name}`);
    });
  }
  for (let sent = 0; sent < 3; sent += 1) expect((await server.createPayout()).status).toBe(200);
  const errors = server.logged().flatMap(({ err }) => (err ? [err.message] : []));
  expect(errors).toEqual(["broken by commit", "broken by request"]);
  await server.close();
});
