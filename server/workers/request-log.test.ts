import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { ServiceError } from "../domain/errors.ts";
import type { LoggedRequest } from "../domain/request-log.ts";
import { createTelemetry, type Exchange, type TelemetryEvents } from "../domain/telemetry.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startRequestLog } from "./request-log.ts";

const ROUTE = "/v1/disbursements/:reference";
const SERVICE = "DSB0123456ABCDEFGHJKMNPQRS1";
const anExchange: Exchange = {
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
};

/** A log of requests with a storage that keeps what it gets, or fails as `failing` says. */
function setUp() {
  const telemetry = createTelemetry((error) => expect.fail(String(error)));
  const stored: LoggedRequest[] = [];
  const reports: TelemetryEvents["requestLog"][] = [];
  const state = { failing: undefined as Error | undefined };
  const storage = {
    async insertRequests(requests: readonly LoggedRequest[]) {
      if (state.failing) throw state.failing;
      stored.push(...requests);
    },
  };
  telemetry.on("requestLog", (report) => reports.push(report));
  const clock = createFakeClock();
  const { stop } = startRequestLog({ storage, telemetry, clock, log: pino({ level: "silent" }) });
  onTestFinished(stop);
  return {
    stored,
    reports,
    state,
    stop,
    clock,
    /** Ends requests. */
    end(changes?: Partial<Exchange>, count = 1) {
      for (let index = 0; index < count; index += 1) telemetry.emit("exchange", { ...anExchange, ...changes });
    },
    /** Lets the time pass after which requests are stored. */
    async pass() {
      const { length } = reports;
      await expect.poll(() => (clock.advance(500), reports.length)).toBeGreaterThan(length);
    },
    /** How many requests of a merchant are stored. */
    countOf: (merchantId: string) => stored.filter((request) => request.merchantId === merchantId).length,
    /** The requests that show a count of dropped requests, by their place. */
    told: () => stored.flatMap(({ leftOut }, index) => (leftOut === undefined ? [] : [{ index, leftOut }])),
  };
}

test("requests that have ended are stored together a moment later, in their order", async () => {
  const { stored, reports, end, pass, clock } = setUp();
  const at = clock.now();
  end({ requestId: "req_1", sent: { reference: "order-7", phoneNumber: "2257038102473" } });
  end({ requestId: "req_2", status: 422, returned: { statusCode: 422, code: "invalid_value" } });
  expect(stored).toEqual([]);
  await pass();
  const operation = { operation: "createDisbursement", method: "POST", path: "/v1/disbursements", durationMs: 1.2 };
  const common = { merchantId: "ada", at, ...operation };
  const sent = '{"reference":"order-7","phoneNumber":"…473"}';
  const returned = '{"statusCode":422,"code":"invalid_value"}';
  expect(stored).toEqual([
    { ...common, requestId: "req_1", number: 1, status: 200, merchantsReference: "order-7", sent },
    { ...common, requestId: "req_2", number: 2, status: 422, code: "invalid_value", returned },
  ]);
  expect(reports).toEqual([{ stored: 2, dropped: 0 }]);
});

const BOTH = { reference: SERVICE, merchantsReference: "order-7" };
test.each<[string, Partial<Exchange>, object]>([
  ["leads to a payment by its response", { returned: { data: BOTH } }, BOTH],
  [
    "leads to a payment by its path",
    { route: ROUTE, parameters: { reference: SERVICE } },
    { reference: SERVICE, path: `/v1/disbursements/${SERVICE}` },
  ],
  [
    "leads to a payment by the address of the payment that has its reference",
    { status: 409, location: `/v1/disbursements/${SERVICE}`, sent: { reference: "order-7" } },
    BOTH,
  ],
  ...[
    ["sk_of_ada", "…"],
    ["2257038102473", "…473"],
    ["order-7", "order-7"],
    ["whsec_AAAA", "whsec_…"],
  ].map(([reference, shown]): [string, Partial<Exchange>, object] => [
    `whose path has ${reference} shows ${shown}`,
    { route: ROUTE, parameters: { reference: reference! } },
    { path: `/v1/disbursements/${shown}` },
  ]),
])("a request %s", async (_, exchange, expected) => {
  const { stored, end, stop } = setUp();
  end(exchange);
  await stop();
  expect(stored).toMatchObject([expected]);
});

test("under load the requests beyond the limit are dropped and counted, of one merchant and of all", async () => {
  const { countOf, reports, end, pass } = setUp();
  end({}, 60);
  for (let merchant = 0; merchant < 40; merchant += 1) end({ merchantId: `other-${merchant}` });
  await pass();
  expect(countOf("ada")).toBe(50);
  for (let merchant = 0; merchant < 120; merchant += 1) end({ merchantId: `other-${merchant}` });
  await pass();
  expect(reports).toEqual([
    { stored: 90, dropped: 10 },
    { stored: 114, dropped: 6 },
  ]);
});

test("requests that failed are stored however many succeed, up to a limit of their own", async () => {
  const { stored, reports, end, pass } = setUp();
  end({}, 59);
  for (const status of [400, 503, undefined]) end({ status }, 20);
  end({ status: 399 });
  await pass();
  const failed = stored.filter(({ status = 500 }) => status >= 400);
  expect([failed.length, stored.length]).toEqual([50, 100]);
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([400, 503, undefined]));
  expect(reports).toEqual([{ stored: 100, dropped: 20 }]);
});

test("merchants whose requests fail push no other merchant's out", async () => {
  const { stored, countOf, told, end, pass } = setUp();
  for (const merchantId of ["busy-1", "busy-2"]) end({ merchantId, status: 422 }, 60);
  end({ merchantId: "quiet", status: 422 }, 12);
  await pass();
  expect(["busy-1", "busy-2", "quiet"].map(countOf)).toEqual([50, 25, 12]);
  expect(told().map(({ index, leftOut }) => [stored[index]!.merchantId, leftOut])).toEqual([
    ["busy-1", 10],
    ["busy-2", 35],
  ]);
});

test("the last stored request of a merchant says how many of it were dropped, once", async () => {
  const { told, end, pass } = setUp();
  end({}, 53);
  end({ merchantId: "kofi" });
  await pass();
  end();
  await pass();
  expect(told()).toEqual([{ index: 49, leftOut: 3 }]);
});

test("a merchant of whom none was stored is told with its next request", async () => {
  const { stored, told, end, pass } = setUp();
  for (let merchant = 0; merchant < 114; merchant += 1) end({ merchantId: `busy-${merchant}` });
  end();
  await pass();
  expect(stored).toHaveLength(114);
  end();
  await pass();
  expect(told()).toEqual([{ index: 114, leftOut: 1 }]);
});

test("requests that cannot be stored are dropped and counted, and later ones are stored", async () => {
  const { stored, reports, state, end, pass } = setUp();
  state.failing = new ServiceError("unavailable", "The server's storage is full.");
  end({}, 53);
  await pass();
  end();
  await pass();
  state.failing = undefined;
  end({ requestId: "req_2" });
  await pass();
  expect(stored).toMatchObject([{ requestId: "req_2", leftOut: 54 }]);
  expect(reports.map(({ stored: count, dropped }) => [count, dropped])).toEqual([
    [0, 53],
    [0, 1],
    [1, 0],
  ]);
});

test("a stop stores what waits, and ends also if the storage fails", async () => {
  for (const [failing, report] of [
    [undefined, { stored: 1, dropped: 0 }],
    [new Error("gone"), { stored: 0, dropped: 1 }],
  ] as const) {
    const { reports, state, end, stop } = setUp();
    state.failing = failing;
    end();
    await stop();
    expect(reports).toEqual([report]);
  }
});
