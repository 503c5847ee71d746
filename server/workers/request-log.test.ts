import { pino } from "pino";
import { expect, test } from "vitest";
import { ServiceError } from "../domain/errors.ts";
import { createTelemetry, type Exchange, type TelemetryEvents } from "../domain/telemetry.ts";
import type { LoggedRequest } from "../domain/request-log.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startRequestLog } from "./request-log.ts";

const anExchange = (changes: Partial<Exchange> = {}): Exchange => ({
  requestId: "req_1",
  merchantId: "ada",
  operationId: "createDisbursement",
  method: "POST",
  route: "/v1/disbursements",
  status: 200,
  durationMs: 1.234,
  parameters: {},
  sent: undefined,
  returned: undefined,
  location: undefined,
  key: "sk_of_ada",
  keyId: undefined,
  program: undefined,
  ...changes,
});

/** A log of requests with a storage that keeps what it gets, or fails as `failing` says. */
function setUp() {
  const telemetry = createTelemetry((error) => expect.fail(String(error)));
  const [stored, reports]: [LoggedRequest[][], TelemetryEvents["requestLog"][]] = [[], []];
  const state = { failing: undefined as Error | undefined };
  const storage = {
    async insertRequests(requests: readonly LoggedRequest[]) {
      if (state.failing) throw state.failing;
      stored.push([...requests]);
    },
  };
  telemetry.on("requestLog", (report) => reports.push(report));
  const clock = createFakeClock();
  const lines: string[] = [];
  const { stop } = startRequestLog({ storage, telemetry, clock, log: pino({}, { write: (line) => lines.push(line) }) });
  const end = (changes?: Partial<Exchange>) => telemetry.emit("exchange", anExchange(changes));
  /** Lets the time pass after which requests are stored. */
  const pass = async () => {
    const { length } = reports;
    await expect.poll(() => (clock.advance(500), reports.length)).toBeGreaterThan(length);
  };
  return { stored, reports, lines, state, end, pass, stop, clock };
}

test("requests that have ended are stored together a moment later, in their order", async () => {
  const { stored, reports, end, pass, stop, clock } = setUp();
  const at = clock.now();
  end({ requestId: "req_1", sent: { reference: "order-7", phoneNumber: "2257038102473" } });
  end({ requestId: "req_2", status: 422, returned: { statusCode: 422, code: "invalid_value" } });
  expect(stored).toEqual([]);
  await pass();
  const common = { merchantId: "ada", at, operation: "createDisbursement", method: "POST", path: "/v1/disbursements" };
  expect(stored).toEqual([
    [
      {
        ...common,
        requestId: "req_1",
        number: 1,
        status: 200,
        durationMs: 1.2,
        merchantsReference: "order-7",
        sent: '{"reference":"order-7","phoneNumber":"…473"}',
      },
      {
        ...common,
        requestId: "req_2",
        number: 2,
        status: 422,
        code: "invalid_value",
        durationMs: 1.2,
        returned: '{"statusCode":422,"code":"invalid_value"}',
      },
    ],
  ]);
  expect(reports).toEqual([{ stored: 2, dropped: 0 }]);
  await stop();
});

const SERVICE = "DSB0123456ABCDEFGHJKMNPQRS1";

test.each<[string, Partial<Exchange>, object]>([
  [
    "its response",
    { returned: { data: { reference: SERVICE, merchantsReference: "order-7" } } },
    { reference: SERVICE, merchantsReference: "order-7" },
  ],
  [
    "its path",
    { route: "/v1/disbursements/:reference", parameters: { reference: SERVICE } },
    { reference: SERVICE, path: `/v1/disbursements/${SERVICE}` },
  ],
  [
    "the address of the payment that has its reference",
    { status: 409, location: `/v1/disbursements/${SERVICE}`, sent: { reference: "order-7" } },
    { reference: SERVICE, merchantsReference: "order-7" },
  ],
])("a request leads to a payment by %s", async (_, exchange, expected) => {
  const { stored, end, stop } = setUp();
  end(exchange);
  await stop();
  expect(stored.flat()).toMatchObject([expected]);
});

test("a path shows no key and no phone number that a caller put there by mistake", async () => {
  const { stored, end, stop } = setUp();
  for (const reference of ["sk_of_ada", "2257038102473", "order-7", "whsec_AAAA"]) {
    end({ route: "/v1/disbursements/:reference", parameters: { reference } });
  }
  await stop();
  const paths = stored.flat().map(({ path }) => path.split("/").at(-1));
  expect(paths).toEqual(["…", "…473", "order-7", "whsec_…"]);
});

test("under load the requests beyond the limit are dropped and counted, of one merchant and of all", async () => {
  const { stored, reports, end, pass, stop } = setUp();
  for (let index = 0; index < 60; index += 1) end();
  for (let merchant = 0; merchant < 40; merchant += 1) end({ merchantId: `other-${merchant}` });
  await pass();
  expect(stored[0]!.filter(({ merchantId }) => merchantId === "ada")).toHaveLength(50);
  expect(reports).toEqual([{ stored: 90, dropped: 10 }]);
  for (let merchant = 0; merchant < 120; merchant += 1) end({ merchantId: `other-${merchant}` });
  await pass();
  expect(reports[1]).toEqual({ stored: 100, dropped: 20 });
  await stop();
});

test("requests that failed are stored however many succeed, up to a limit of their own", async () => {
  const { stored, reports, end, pass, stop } = setUp();
  for (let index = 0; index < 60; index += 1) end();
  for (let index = 0; index < 60; index += 1) end([{ status: 400 }, { status: 503 }, { status: undefined }][index % 3]);
  end({ status: 399 });
  await pass();
  const failed = stored[0]!.filter(({ status = 500 }) => status >= 400);
  expect([failed.length, stored[0]!.length]).toEqual([50, 100]);
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([400, 503, undefined]));
  expect(reports).toEqual([{ stored: 100, dropped: 21 }]);
  await stop();
});

test("the last stored request of a merchant says how many of it were dropped, once", async () => {
  const { stored, end, pass, stop } = setUp();
  for (let index = 0; index < 53; index += 1) end();
  end({ merchantId: "kofi" });
  await pass();
  end();
  await pass();
  const leftOut = stored.flat().map((request) => request.leftOut);
  expect(leftOut.flatMap((count, index) => (count === undefined ? [] : [{ index, count }]))).toEqual([
    { index: 49, count: 3 },
  ]);
  await stop();
});

test("a merchant of whom none was stored is told with its next request", async () => {
  const { stored, end, pass, stop } = setUp();
  for (let merchant = 0; merchant < 100; merchant += 1) end({ merchantId: `busy-${merchant}` });
  end();
  await pass();
  expect(stored.flat()).toHaveLength(100);
  end({ requestId: "req_2" });
  await pass();
  expect(stored[1]).toMatchObject([{ requestId: "req_2", leftOut: 1 }]);
  await stop();
});

test("requests that cannot be stored are dropped and counted, and later ones are stored", async () => {
  const { stored, reports, state, end, pass, stop } = setUp();
  state.failing = new ServiceError("unavailable", "The server's storage is full.");
  for (let index = 0; index < 53; index += 1) end();
  await pass();
  end();
  await pass();
  state.failing = undefined;
  end({ requestId: "req_2" });
  await pass();
  expect(stored.flat()).toMatchObject([{ requestId: "req_2", leftOut: 54 }]);
  expect(reports).toEqual([
    { stored: 0, dropped: 53 },
    { stored: 0, dropped: 1 },
    { stored: 1, dropped: 0 },
  ]);
  await stop();
});

/** Bodies that the redaction cannot read, with the phone number that the message of the error contains. */
const unreadable = (): object => ({
  get reference() {
    throw new TypeError("Cannot read 2250700000001");
  },
});

test.each<[string, Partial<Exchange>]>([
  ["body", { sent: unreadable() }],
  ["response", { returned: unreadable() }],
  ["parameter", { route: "/v1/disbursements/:reference", parameters: unreadable() as Record<string, string> }],
])("a request whose %s cannot be redacted is the only one that is missing, and is reported", async (_, changes) => {
  const { stored, reports, lines, end, pass, stop } = setUp();
  end({ requestId: "req_bad", ...changes });
  end({ requestId: "req_2" });
  end({ requestId: "req_3", merchantId: "kofi" });
  await pass();
  expect(stored.flat()).toMatchObject([{ requestId: "req_2", leftOut: 1 }, { requestId: "req_3" }]);
  expect(stored.flat()[1]).not.toHaveProperty("leftOut");
  end({ requestId: "req_4" });
  await stop();
  expect(stored.flat().map(({ requestId }) => requestId)).toEqual(["req_2", "req_3", "req_4"]);
  expect(reports).toEqual([
    { stored: 2, dropped: 1 },
    { stored: 1, dropped: 0 },
  ]);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 50, requestId: "req_bad", error: "TypeError" },
  ]);
  expect(lines.join()).not.toContain("2250700000001");
});

test("a stop stores what waits, and ends also if the storage fails", async () => {
  const { stored, reports, end, stop } = setUp();
  end();
  await stop();
  expect(stored.flat()).toHaveLength(1);
  const other = setUp();
  other.state.failing = new Error("gone");
  other.end();
  await other.stop();
  expect([reports, other.reports]).toEqual([[{ stored: 1, dropped: 0 }], [{ stored: 0, dropped: 1 }]]);
});

test("merchants whose requests fail push no other merchant's out", async () => {
  const { stored, end, pass, stop } = setUp();
  for (const merchantId of ["busy-1", "busy-2"])
    for (let index = 0; index < 60; index += 1) end({ merchantId, status: 422 });
  for (let index = 0; index < 12; index += 1) end({ merchantId: "quiet", status: 422, requestId: `req_${index}` });
  await pass();
  const of = (merchantId: string) => stored.flat().filter((request) => request.merchantId === merchantId);
  expect(of("quiet").map(({ requestId }) => requestId)).toEqual(
    Array.from({ length: 12 }, (_, index) => `req_${index}`),
  );
  expect([of("busy-1").length, of("busy-2").length]).toEqual([44, 44]);
  expect(of("busy-1").at(-1)).toMatchObject({ leftOut: 16 });
  await stop();
});
