import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { ServiceError } from "../domain/errors.ts";
import type { LoggedRequest } from "../domain/request-log.ts";
import { createTelemetry, type Exchange, type TelemetryEvents } from "../domain/telemetry.ts";
import { createFakeClock } from "../testing/clock.ts";
import { startRequestLog } from "./request-log.ts";

const anExchange: Exchange = {
  requestId: "req_1",
  merchantId: "ada",
  operation: "createDisbursement",
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

/** Each merchant's requests with a status, and how many of the merchant's are stored. */
type Sent = [merchantId: string, status: number | undefined, count: number];
const others = (count: number) => Array.from({ length: count }, (_, index): Sent => [`other-${index}`, 200, 1]);
test.each<[string, Sent[], kept: Record<string, number>, { stored: number; dropped: number }]>([
  ["of one merchant", [["ada", 200, 60], ...others(40)], { ada: 50 }, { stored: 90, dropped: 10 }],
  ["of all merchants", others(120), {}, { stored: 114, dropped: 6 }],
  [
    "that failed, apart from those that succeed",
    [["ada", 200, 60], ...[400, 503, undefined].map((status): Sent => ["ada", status, 20])],
    { ada: 100 },
    { stored: 100, dropped: 20 },
  ],
  [
    "that failed, of a merchant beside busy ones",
    [
      ["busy-1", 422, 60],
      ["busy-2", 422, 60],
      ["quiet", 422, 12],
    ],
    { "busy-1": 50, "busy-2": 25, quiet: 12 },
    { stored: 87, dropped: 45 },
  ],
])(
  "under load a limited number of requests %s is stored, and the others are counted",
  async (_, sent, kept, report) => {
    const { stored, reports, end, pass } = setUp();
    for (const [merchantId, status, count] of sent) end({ merchantId, status }, count);
    await pass();
    for (const [merchantId, count] of Object.entries(kept))
      expect(stored.filter((request) => request.merchantId === merchantId)).toHaveLength(count);
    expect(reports).toEqual([report]);
  },
);

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
  expect(stored).toMatchObject([{ requestId: "req_2" }]);
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
