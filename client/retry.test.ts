import { describe, expect, test, vi } from "vitest";
import {
  respond,
  disbursementCreated,
  rejectionOf,
  key,
  connectionLost,
  connectionRefused,
  ok,
  reachedClient,
  disbursementRequest,
  record,
  refusal,
  scriptedClient,
  noResponse,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";
import {
  AbortedError,
  ConnectionError,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
} from "./index.ts";
import type { ClientError, RetryOptions } from "./index.ts";

const verify = async (steps: Step[], options?: Parameters<typeof scriptedClient>[1]) => {
  const script = await reachedClient(steps, options);
  return { ...script, call: script.time.run(script.client.disbursements.verify("DSB1")) };
};

describe("a verify", () => {
  const passing: [string, () => Step][] = [
    ["a lost connection", connectionLost],
    ["a refused connection", connectionRefused],
    ["no response", () => noResponse],
    ["429", () => refusal(429)],
    ["a page with 429", () => respond(429, "<html>")],
    ["500", () => refusal(500)],
    ["502", () => respond(502)],
    ["503", () => refusal(503)],
    ["504", () => respond(504)],
    ["a page", () => respond(200, "<html>")],
    ["another record", () => ok({ ...record, reference: "DSB2" })],
  ];
  test.each(passing)("is retried after %s", async (_, step) => {
    const { call, sent } = await verify([step(), ok(record)]);
    expect(await call).toEqual(record);
    expect(sent.map(({ url }) => url)).toEqual(Array(2).fill("https://pay.example/v1/disbursements/DSB1"));
  });

  const lasting: [string, () => Step, new (m: string) => Error, number | undefined][] = [
    ["a lost connection", connectionLost, ConnectionError, undefined],
    ["no response", () => noResponse, TimeoutError, undefined],
    ["429", () => refusal(429), RateLimitError, 429],
    ["500", () => refusal(500), ServerError, 500],
    ["502", () => respond(502), ServerError, 502],
    ["a page", () => respond(200, "<html>"), UnexpectedAnswerError, 200],
    ["404 with a page", () => respond(404, "<html>"), UnexpectedAnswerError, 404],
    ["a gateway's 404", () => respond(404, { message: "Not Found" }), UnexpectedAnswerError, 404],
    ["404 with an error that is not a string", () => respond(404, { error: { code: 1 } }), UnexpectedAnswerError, 404],
    ["a redirect", () => respond(307, "", { location: "https://elsewhere.example" }), UnexpectedAnswerError, 307],
    ["no content", () => new Response(null, { status: 204 }), UnexpectedAnswerError, 204],
    ["null", () => respond(200, "null"), UnexpectedAnswerError, 200],
    ["null for 404", () => respond(404, "null"), UnexpectedAnswerError, 404],
    ["null as data", () => ok(null), UnexpectedAnswerError, 200],
    ["an amount that is a string", () => ok({ ...record, amount: "1500000" }), UnexpectedAnswerError, 200],
    ["no status", () => ok({ ...record, status: undefined }), UnexpectedAnswerError, 200],
  ];
  test.each(lasting)("that only receives %s fails with the last error", async (_, step, expected, status) => {
    const { call, sent } = await verify([step(), step(), step()], { retry: { tries: 3 } });
    const error = await rejectionOf(call);
    expect(error).toBeInstanceOf(expected);
    expect((error as ClientError).status).toBe(status);
    expect(sent).toHaveLength(3);
  });

  test("of an unknown reference fails without a retry", async () => {
    const { call, sent } = await verify([refusal(404)]);
    expect(await rejectionOf(call)).toBeInstanceOf(NotFoundError);
    expect(sent).toHaveLength(1);
  });

  test.each(["", ".", "..", "a/b", "a\\b", "/", "\ud800", undefined, null, 7, {}])(
    "rejects the reference %j",
    async (reference) => {
      const { client, time, sent } = scriptedClient([]);
      const error = await time.run(rejectionOf(client.disbursements.verify(reference as string)));
      expect(error).toBeInstanceOf(UsageError);
      // A lone surrogate fails only when the URL is encoded.
      const text =
        reference === "\ud800" ? /cannot be sent/ : /^reference (is missing. It )?must be one that create returned\.$/;
      expect((error as Error).message).toMatch(text);
      expect(sent).toEqual([]);
    },
  );

  test.each([
    ["a b", "a%20b"],
    ["a?b#c", "a%3Fb%23c"],
    ["%2e%2e", "%252e%252e"],
    ["...", "..."],
    ["Élé", "%C3%89l%C3%A9"],
  ])("encodes the reference %j as one path segment", async (reference, segment) => {
    const { client, time, sent } = scriptedClient([ok({ ...record, reference })]);
    await time.run(client.checkouts.verify(reference));
    expect(sent[0]!.url).toBe(`https://pay.example/v1/checkouts/${segment}`);
    expect(sent[0]!.body).toBeUndefined();
  });
});

const failures = (count: number) => Array.from({ length: count }, () => refusal(500));

async function delaysOf(steps: Step[], retry: RetryOptions, randomValue = 1) {
  const { client, time, delays } = scriptedClient(steps, { retry });
  time.randomValue = randomValue;
  await time.run(rejectionOf(client.disbursements.verify("DSB1")));
  return delays();
}

describe("delays", () => {
  test("are random below a bound that doubles up to its maximum", async () => {
    const retry = { tries: 7, minDelay: 100, maxDelay: 1000 };
    expect(await delaysOf(failures(7), retry)).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(await delaysOf(failures(7), retry, 0.25)).toEqual([25, 50, 100, 200, 250, 250]);
    expect(await delaysOf(failures(3), { ...retry, tries: 3, minDelay: 1 })).toEqual([1, 2]);
  });

  test("default to seven, bounded by 250 ms to 8 s", async () => {
    expect(await delaysOf(failures(8), {})).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000]);
  });

  test.each([
    ["seconds", "3", 3000],
    ["a date", "Fri, 20 Nov 2026 10:00:07 GMT", 7000],
    ["a date in the past", "Fri, 20 Nov 2026 09:00:00 GMT", 0],
    ["nonsense", "soon", 0],
    ["a negative number", "-5", 0],
    ["nothing", "", 0],
  ])("are added to Retry-After: %s", async (_, value, expected) => {
    for (const status of [429, 503]) {
      const steps = [refusal(status, { "retry-after": value }), refusal(404)];
      expect(await delaysOf(steps, { minDelay: 100 }, 0.5)).toEqual([expected + 50]);
    }
  });

  test("are skipped if Retry-After exceeds the time left", async () => {
    expect(await delaysOf([refusal(503, { "retry-after": "60" })], {})).toEqual([]);
  });

  test.each([429, 503])(
    "are skipped if a %i asks for a day, whatever the call's time; the error says until when",
    async (status) => {
      const { client, time, sent } = scriptedClient([refusal(status, { "retry-after": "86400" })]);
      const started = time.now();
      const error = await time.run(rejectionOf(client.disbursements.waitFor("DSB1", { timeout: 1e9 })));
      expect(error).toMatchObject({
        message: `Received ${status}. Refused: For a reason. Retry after 2026-11-21T10:00:00.000Z.`,
        retryAfter: 86_400_000,
      });
      expect([sent.length, time.now() - started]).toEqual([1, 0]);
    },
  );

  test("leave time for a last attempt", async () => {
    const { client, time, delays } = scriptedClient([refusal(500), refusal(500), noResponse], {
      retry: { minDelay: 6000, totalTime: 10_000 },
    });
    const started = time.now();
    expect(await time.run(rejectionOf(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(delays()).toEqual([6000, 3500]);
    expect(time.now() - started).toBe(10_000);
  });

  test("share the total time with the attempts", async () => {
    const { client, time, sent } = scriptedClient([noResponse, noResponse, noResponse], {
      timeout: 4000,
      retry: { totalTime: 9000, minDelay: 1 },
    });
    const started = time.now();
    expect(await time.run(rejectionOf(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(sent).toHaveLength(3);
    expect(time.now() - started).toBe(9000);
  });
});

describe("a signal", () => {
  test("ends an attempt immediately, even if fetch ignores it", async () => {
    const controller = new AbortController();
    const ignoresSignal: Step = () => {
      queueMicrotask(() => controller.abort());
      return new Promise(() => {});
    };
    const { client, time } = scriptedClient([ignoresSignal]);
    const started = time.now();
    const error = await time.run(rejectionOf(client.disbursements.verify("DSB1", { signal: controller.signal })));
    expect(error).toBeInstanceOf(AbortedError);
    expect((error as Error).message).toBe("Aborted.");
    expect([time.waiting, time.now() - started]).toEqual([0, 0]);
  });

  test("ends a delay immediately", async () => {
    const controller = new AbortController();
    const { client, time, sent } = scriptedClient([refusal(500)], {
      hooks: { onRetry: () => setImmediate(() => controller.abort()) },
    });
    const started = time.now();
    const error = await time.run(rejectionOf(client.disbursements.verify("DSB1", { signal: controller.signal })));
    expect(error).toBeInstanceOf(AbortedError);
    expect((error as AbortedError).attempts).toHaveLength(1);
    expect([sent.length, time.now() - started, time.waiting]).toEqual([1, 0, 0]);
  });

  test("has no listeners left after the call", async () => {
    const { prototype } = EventTarget;
    const spies = [vi.spyOn(prototype, "addEventListener"), vi.spyOn(prototype, "removeEventListener")];
    const { client, time } = scriptedClient([refusal(500), ok(record)]);
    await time.run(client.disbursements.verify("DSB1", { signal: new AbortController().signal }));
    const [added, removed] = spies.map(
      ({ mock }) => new Set(mock.calls.filter(([type]) => type === "abort").map(([, listener]) => listener)),
    );
    vi.restoreAllMocks();
    expect(added!.size).toBeGreaterThan(0);
    expect(removed).toEqual(added);
  });
});

describe("the timeout of an attempt", () => {
  test("includes reading the response", async () => {
    const endless = new Response(new ReadableStream({ start: () => {} }), { status: 200 });
    const { client, time } = scriptedClient([endless], { timeout: 700, retry: { tries: 1 } });
    const started = time.now();
    expect(await time.run(rejectionOf(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(time.now() - started).toBe(700);
  });

  test("includes the apiKey function; nothing is sent after it", async () => {
    const asked = Promise.withResolvers<string>();
    const options = { apiKey: () => asked.promise, timeout: 700, retry: { tries: 1 } };
    const { client, time, sent } = scriptedClient([], options);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(TimeoutError);
    asked.resolve(key);
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
  });

  test("can be set for one call", async () => {
    const { client, time } = scriptedClient([noResponse], { timeout: 700 });
    const started = time.now();
    await time.run(rejectionOf(client.disbursements.verify("DSB1", { timeout: 50, retry: { tries: 1 } })));
    expect(time.now() - started).toBe(50);
  });
});

test("a body that breaks off counts as a broken connection", async () => {
  const broken = new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode('{"statusCode":200'));
      stream.error(new TypeError("terminated"));
    },
  });
  const { client, time } = scriptedClient([new Response(broken), ok(disbursementCreated)]);
  expect(await time.run(client.disbursements.create(disbursementRequest))).toEqual({
    ...disbursementCreated,
    recovered: false,
  });
});
