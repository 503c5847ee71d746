// Reading one record, once or until its status is final: retries, delays, time limits, signals and response bodies.
import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import type { ClientError, ClientOptions, RetryOptions, TimeoutError, WaitOptions } from "./index.ts";
import {
  connectionLost,
  connectionRefused,
  disbursementCreated,
  duplicate,
  here,
  key,
  noResponse,
  ok,
  page,
  reachedClient,
  record,
  refusal,
  rejectionOf,
  respond,
  scriptedClient,
  times,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const ended = (status: string) => ok({ ...record, status });
const pending = () => ended("pending");

type Script = ReturnType<typeof scriptedClient>;

/** The result of a call, how long it took and the requests, with their times since its start. */
async function resultOf<R>(script: Script, call: (client: Script["client"]) => { result(): Promise<R> }) {
  const { client, time, sent, delays } = script;
  const started = time.now();
  const result = await time.run(call(client).result());
  const at = sent.map((request) => request.at - started);
  const error = (result as { error?: Error }).error as ClientError & TimeoutError;
  return { result, error, sent, at, delays: delays(), took: time.now() - started, waiting: time.waiting };
}

const verify = async (steps: Step[], options?: Partial<ClientOptions>) =>
  resultOf(await reachedClient(steps, options), ({ disbursements }) => disbursements.verify("DSB1"));
const waitFor = (steps: Step[], wait?: WaitOptions, options?: Partial<ClientOptions>) =>
  resultOf(scriptedClient(steps, options), ({ disbursements }) => disbursements.waitFor("DSB1", wait));

const found = (status = "pending") => ({ outcome: "found", status, data: { ...record, status } });

describe("a verify", () => {
  test.each<[string, () => Step, string, number | undefined]>([
    ["a lost connection", connectionLost, "ConnectionError", undefined],
    ["a refused connection", connectionRefused, "ConnectionError", undefined],
    ["no response", () => noResponse, "TimeoutError", undefined],
    ["429", () => refusal(429), "RateLimitError", 429],
    ["a page with 429", () => page(429), "RateLimitError", 429],
    ["500", () => refusal(500), "ServerError", 500],
    ["a page", () => page(200), "UnexpectedAnswerError", 200],
    ["another record", () => ok({ ...record, reference: "DSB2" }), "UnexpectedAnswerError", 200],
    ["404 with a page", () => page(404), "UnexpectedAnswerError", 404],
    ["a gateway's 404", () => respond(404, { message: "Not Found" }), "UnexpectedAnswerError", 404],
    ["404 with an error that is no text", () => respond(404, { error: { code: 1 } }), "UnexpectedAnswerError", 404],
    ["a redirect", () => respond(307, "", { location: "https://x.example" }), "UnexpectedAnswerError", 307],
    ["no content", () => new Response(null, { status: 204 }), "UnexpectedAnswerError", 204],
    ["null", () => respond(200, "null"), "UnexpectedAnswerError", 200],
    ["null as data", () => ok(null), "UnexpectedAnswerError", 200],
    ["an amount that is a text", () => ok({ ...record, amount: "1500000" }), "UnexpectedAnswerError", 200],
    ["no status", () => ok({ ...record, status: undefined }), "UnexpectedAnswerError", 200],
  ])("is retried after %s, and fails with the last error", async (_, step, name, status) => {
    const failed = await verify(times(3, step), { retry: { tries: 3 } });
    expect(failed.result).toMatchObject({ outcome: "unknown", error: { name } });
    expect(failed.error.status).toBe(status);
    const { result, sent } = await verify([step(), ok(record)]);
    expect(result).toEqual(found());
    expect([failed.sent.length, ...sent.map(({ url }) => url)]).toEqual([
      3,
      ...Array(2).fill(`https://pay.example${here}`),
    ]);
  });

  test.each([
    [404, "missing", "NotFoundError"],
    [401, "unknown", "AuthenticationError"],
    [409, "unknown", "DuplicateReferenceError"],
  ])("fails on %i without a retry", async (status, outcome, name) => {
    const { result, sent } = await verify([refusal(status)]);
    expect(result).toMatchObject({ outcome, error: { name, status } });
    expect(sent).toHaveLength(1);
  });

  test.each(["", ".", "..", "a/b", "a\\b", "/", "\ud800", undefined, null, 7, {}])(
    "rejects the reference %j",
    async (reference) => {
      const call = await resultOf(scriptedClient([]), ({ checkouts }) => checkouts.verify(reference as string));
      // A lone surrogate fails only when the URL is encoded.
      const text = reference === "\ud800" ? /cannot be sent/ : /^reference .*must be one that create returned\.$/;
      expect([call.error.name, call.error.message]).toEqual(["UsageError", expect.stringMatching(text)]);
      expect(call.sent).toEqual([]);
    },
  );

  test.each([
    ["a b", "a%20b"],
    ["a?b#c", "a%3Fb%23c"],
    ["%2e%2e", "%252e%252e"],
    ["...", "..."],
    ["Élé", "%C3%89l%C3%A9"],
  ])("encodes the reference %j as one path segment", async (reference, segment) => {
    const script = scriptedClient([ok({ ...record, reference })]);
    const { sent } = await resultOf(script, ({ checkouts }) => checkouts.verify(reference));
    expect(sent.map(({ url, body }) => [url, body])).toEqual([
      [`https://pay.example/v1/checkouts/${segment}`, undefined],
    ]);
  });
});

describe("delays", () => {
  async function delaysOf(steps: Step[], retry: RetryOptions, randomValue = 1) {
    const script = scriptedClient(steps, { retry });
    script.time.randomValue = randomValue;
    return (await resultOf(script, ({ disbursements }) => disbursements.verify("DSB1"))).delays;
  }
  const failures = (count: number) => times(count, () => refusal(500));

  test("are random below a bound that doubles up to its maximum", async () => {
    const retry = { tries: 7, minDelay: 100, maxDelay: 1000 };
    expect(await delaysOf(failures(7), retry)).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(await delaysOf(failures(7), retry, 0.25)).toEqual([25, 50, 100, 200, 250, 250]);
    expect(await delaysOf(failures(8), {})).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000]);
  });

  test.each([
    ["seconds", "3", 3000],
    ["a date", "Fri, 20 Nov 2026 10:00:07 GMT", 7000],
    ["a date in the past", "Fri, 20 Nov 2026 09:00:00 GMT", 0],
    ["nonsense", "soon", 0],
    ["a negative number", "-5", 0],
  ])("are added to Retry-After: %s", async (_, value, expected) => {
    for (const status of [429, 503]) {
      const steps = [refusal(status, { "retry-after": value }), refusal(404)];
      expect(await delaysOf(steps, { minDelay: 100 }, 0.5)).toEqual([expected + 50]);
    }
  });

  test.each([
    ["60", {}],
    ["86400", { timeout: 1e9 }],
  ])("are skipped if Retry-After (%s s) exceeds the time left, or a minute", async (seconds, wait) => {
    for (const status of [429, 503]) {
      const { error, sent, took } = await waitFor([refusal(status, { "retry-after": seconds })], {
        timeout: 60_000,
        ...wait,
      });
      const until = new Date(Date.parse("2026-11-20T10:00:00Z") + Number(seconds) * 1000).toJSON();
      expect(error.message).toBe(`Received ${status}. Refused: For a reason. Retry after ${until}.`);
      expect([error.retryAfter, sent.length, took]).toEqual([Number(seconds) * 1000, 1, 0]);
    }
  });

  test("leave time for a last attempt", async () => {
    const retry = { minDelay: 6000, totalTime: 10_000 };
    const { error, delays, took } = await verify([refusal(500), refusal(500), noResponse], { retry });
    expect([error.name, delays, took]).toEqual(["TimeoutError", [6000, 3500], 10_000]);
  });

  test("share the total time with the attempts", async () => {
    const retry = { totalTime: 9000, minDelay: 1 };
    const { error, sent, took } = await verify(
      times(3, () => noResponse),
      { timeout: 4000, retry },
    );
    expect([error.name, sent.length, took]).toEqual(["TimeoutError", 3, 9000]);
  });
});

describe("waitFor", () => {
  test.each([
    ["disbursements", "success"],
    ["disbursements", "failed"],
    ["checkouts", "success"],
    ["checkouts", "failed"],
    ["checkouts", "cancelled"],
  ] as const)("polls %s until one is %s", async (kind, status) => {
    const script = scriptedClient([pending(), pending(), pending(), ended(status)]);
    const { result, sent, delays } = await resultOf<{ status?: unknown }>(script, (client) =>
      client[kind].waitFor("DSB1"),
    );
    expect(result.status).toBe(status);
    expect(new Set(sent.map(({ url }) => url))).toEqual(new Set([`https://pay.example/v1/${kind}/DSB1`]));
    expect(delays).toEqual([1000, 2000, 4000]);
  });

  test("waits on after a status that is not final for payouts, such as a later version's or a checkout's", async () => {
    const { result, sent } = await waitFor([ended("reversed"), ended("cancelled"), ended("failed")]);
    expect(result).toMatchObject(found("failed"));
    expect(sent).toHaveLength(3);
  });

  test("retries transient failures and records that do not exist yet", async () => {
    const limited = refusal(429, { "retry-after": "2" });
    const steps = [refusal(404), connectionLost(), limited, refusal(500), page(200), ended("success")];
    const { result, delays } = await waitFor(steps);
    expect(result).toMatchObject(found("success"));
    expect(delays).toEqual([1000, 2000, 6000, 8000, 10_000]);
  });

  test.each([0, -10_000, 3_600_000])("keeps its time if the system clock jumps by %i ms", async (jump) => {
    const script = scriptedClient(times(9, pending), { hooks: { onRetry: () => void (script.time.offset += jump) } });
    const call = await resultOf(script, ({ disbursements }) => disbursements.waitFor("DSB1", { timeout: 10_000 }));
    expect([call.error.name, call.error.message, call.error.last]).toEqual(["TimeoutError", "Still pending.", record]);
    expect(call.at).toEqual([0, 1000, 3000, 7000, 9500]);
  });

  test.each([
    ["10 s", 120_000, [0, 1000, 3000, 7000, 10_000]],
    ["its shorter time", 5000, [0, 1000, 3000, 4750]],
  ])("ends with NotFoundError if the record does not appear within %s", async (_, timeout, expected) => {
    const { result, at } = await waitFor(
      times(20, () => refusal(404)),
      { timeout },
    );
    expect(result).toMatchObject({ outcome: "missing", error: { name: "NotFoundError" } });
    expect(at).toEqual(expected);
  });

  test("keeps polling a record that it has read before", async () => {
    const steps = [pending(), ...times(6, () => refusal(404)), ended("success")];
    expect((await waitFor(steps)).result).toMatchObject(found("success"));
  });

  test("polls again after a request times out, with the given delays", async () => {
    const steps = [noResponse, pending(), pending(), ended("failed")];
    const { result, delays } = await waitFor(steps, { minDelay: 10, maxDelay: 20 }, { timeout: 2000 });
    expect(result).toMatchObject(found("failed"));
    expect(delays).toEqual([2010, 20, 20]);
  });

  test.each([
    ["no response", () => noResponse, "TimeoutError"],
    ["500", () => refusal(500), "ServerError"],
    ["a lost connection", connectionLost, "ConnectionError"],
  ])("keeps the record if its last look ends with %s", async (_, step, cause) => {
    const wait = { timeout: 2000, minDelay: 1000 };
    const { error } = await waitFor([ok(record), step(), step()], wait, { timeout: 20_000 });
    expect([error.name, error.message, error.last]).toEqual(["TimeoutError", "Still pending.", record]);
    expect([(error.cause as Error).name, error.reference]).toEqual([cause, "DSB1"]);
    expect(JSON.stringify(error)).not.toContain(record.customer.phoneNumber);
  });

  test.each([{ timeout: 0 }, { timeout: "1" }, { minDelay: -1 }, { maxDelay: NaN }, { until: "success" }])(
    "refuses the options %j",
    async (options) => {
      const { error, sent } = await waitFor([], options as WaitOptions);
      expect([error.name, sent]).toEqual(["UsageError", []]);
    },
  );
});

describe("a signal", () => {
  test.each([0, 1])(
    "of the client or of the call (%i) ends an attempt at once, even if fetch ignores it",
    async (which) => {
      const controllers = [new AbortController(), new AbortController()];
      const [ofClient, ofCall] = controllers.map(({ signal }) => ({ signal }));
      const reason = new Error("shutting down");
      const wait = () => {
        queueMicrotask(() => controllers[which]!.abort(reason));
        return new Promise<never>(() => {});
      };
      const script = scriptedClient([wait], ofClient);
      const call = await resultOf(script, ({ disbursements }) => disbursements.verify("DSB1", ofCall));
      expect([call.error.name, call.error.message]).toEqual(["AbortedError", "Aborted."]);
      expect([call.error.cause, call.took, call.waiting]).toEqual([reason, 0, 0]);
    },
  );

  test("ends a delay at once", async () => {
    const controller = new AbortController();
    const hooks = { onRetry: () => void setImmediate(() => controller.abort()) };
    const call = await verify([refusal(500)], { signal: controller.signal, hooks });
    expect([call.error.name, call.error.attempts!.length]).toEqual(["AbortedError", 1]);
    expect([call.sent.length, call.took, call.waiting]).toEqual([1, 0, 0]);
  });

  test("ends waitFor, which keeps what it read", async () => {
    const controller = new AbortController();
    const hooks = { onRetry: () => controller.abort("enough") };
    const { error } = await waitFor([ok(record)], { signal: controller.signal }, { hooks });
    expect([error.name, error.cause, error.last]).toEqual(["AbortedError", "enough", record]);
  });

  test("gets no listeners: Node 20 reports more than ten on one signal as a leak", async () => {
    const [ofClient, ofCall] = [new AbortController().signal, new AbortController().signal];
    const listeners = [ofClient, ofCall].map((signal) => vi.spyOn(signal, "addEventListener"));
    const { client, time } = scriptedClient([noResponse, noResponse], { signal: ofClient, retry: { tries: 1 } });
    for (const signal of [undefined, ofCall])
      await time.run(rejectionOf(client.disbursements.verify("DSB1", signal && { signal })));
    for (const added of listeners) expect(added).not.toHaveBeenCalled();
  });
});

describe("the timeout of an attempt", () => {
  const once = { timeout: 700, retry: { tries: 1 } };

  test.each<[string, Step]>([
    ["the response", noResponse],
    ["its body", new Response(new ReadableStream({ start: () => {} }), { status: 200 })],
  ])("includes %s", async (_, step) => {
    const { error, took } = await verify([step], once);
    expect([error.name, took]).toEqual(["TimeoutError", 700]);
  });

  test("includes the apiKey function; nothing is sent after it", async () => {
    const asked = Promise.withResolvers<string>();
    const { create, sent } = scriptedClient([], { apiKey: () => asked.promise, ...once });
    expect(await create()).toMatchObject({ outcome: "refused", error: { name: "TimeoutError" } });
    asked.resolve(key);
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
  });
});

const mebibyte = 1024 ** 2;

/** A body of chunks of 1 MiB without end, and how many of them were read. */
function endlessBody() {
  const body = {
    read: 0,
    cancelled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        pull(stream) {
          body.read++;
          stream.enqueue(new Uint8Array(mebibyte).fill(32));
        },
        cancel() {
          body.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ),
  };
  return body;
}

describe("a response body", () => {
  const gzip = { "content-length": "100", "content-encoding": "gzip" };
  test.each<[string, ResponseInit]>([
    ["with status 200", { status: 200 }],
    ["with status 500", { status: 500 }],
    ["compressed", { headers: gzip }],
  ])("without end is not read beyond 8 MiB: %s", async (_, init) => {
    const body = endlessBody();
    const { error } = await verify([new Response(body.stream, init)], { retry: { tries: 1 } });
    expect([error.name, error.message]).toEqual(["UnexpectedAnswerError", "The response has more than 8388608 bytes."]);
    expect(body).toMatchObject({ read: 9, cancelled: true });

    const plain = endlessBody();
    const { raw } = scriptedClient([new Response(plain.stream, init)]).client;
    const call = raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
    expect(await rejectionOf(call)).toMatchObject({ name: "UnexpectedAnswerError" });
    expect(plain).toMatchObject({ read: 9, cancelled: true });
  });

  test("of 8 MiB is read", async () => {
    const text = new TextEncoder().encode(JSON.stringify({ statusCode: 200, data: record }));
    const rest = new Uint8Array(8 * mebibyte - text.length).fill(32);
    const { result } = await verify([new Response(new Blob([text, rest]).stream())]);
    expect(result).toEqual(found());
  });

  test("is decoded as a whole, even if a character is split between two chunks", async () => {
    const data = { ...record, customer: { ...record.customer, name: "Zoé 🙂" } };
    const bytes = new TextEncoder().encode(JSON.stringify({ statusCode: 200, data }));
    const stream = Readable.toWeb(Readable.from([...bytes].map((byte) => Uint8Array.of(byte)))) as ReadableStream;
    expect((await verify([new Response(stream)])).result).toMatchObject({ data });
  });

  test("that is too large is retried, and a create is resolved by its record", async () => {
    const steps = [new Response(endlessBody().stream), duplicate(here), ok(record)];
    expect(await scriptedClient(steps).create()).toMatchObject({ outcome: "existed" });
  });

  test("that breaks off counts as a broken connection", async () => {
    const broken = new ReadableStream({
      start(stream) {
        stream.enqueue(new TextEncoder().encode('{"statusCode":200'));
        stream.error(new TypeError("terminated"));
      },
    });
    const script = scriptedClient([new Response(broken), ok(disbursementCreated)]);
    expect(await script.create()).toMatchObject({ outcome: "created" });
  });
});
