import { describe, expect, test } from "vitest";
import {
  answer,
  created,
  failure,
  key,
  lost,
  notReached,
  ok,
  payout,
  record,
  refuse,
  scripted,
  silence,
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

const verify = (steps: Step[], options?: Parameters<typeof scripted>[1]) => {
  const script = scripted(steps, options);
  return { ...script, call: script.time.run(script.client.disbursements.verify("DSB1")) };
};

describe("a verify", () => {
  const passing: [string, () => Step][] = [
    ["a lost connection", lost],
    ["no connection", notReached],
    ["silence", () => silence],
    ["429", () => refuse(429)],
    ["a page with 429", () => answer(429, "<html>")],
    ["500", () => refuse(500)],
    ["502", () => answer(502)],
    ["503", () => refuse(503)],
    ["504", () => answer(504)],
    ["a page", () => answer(200, "<html>")],
    ["another record", () => ok({ ...record, reference: "DSB2" })],
  ];
  test.each(passing)("is tried again after %s", async (_, step) => {
    const { call, sent } = verify([step(), ok(record)]);
    expect(await call).toEqual(record);
    expect(sent.map(({ url }) => url)).toEqual(Array(2).fill("https://pay.example/v1/disbursements/DSB1"));
  });

  const lasting: [string, () => Step, new (m: string) => Error, number | undefined][] = [
    ["a lost connection", lost, ConnectionError, undefined],
    ["silence", () => silence, TimeoutError, undefined],
    ["429", () => refuse(429), RateLimitError, 429],
    ["500", () => refuse(500), ServerError, 500],
    ["502", () => answer(502), ServerError, 502],
    ["a page", () => answer(200, "<html>"), UnexpectedAnswerError, 200],
    ["a page for 404", () => answer(404, "<html>"), UnexpectedAnswerError, 404],
    ["a gateway's own 404", () => answer(404, { message: "Not Found" }), UnexpectedAnswerError, 404],
    ["another shape of error", () => answer(404, { error: { code: 1 } }), UnexpectedAnswerError, 404],
    ["a redirect", () => answer(307, "", { location: "https://elsewhere.example" }), UnexpectedAnswerError, 307],
    ["no content", () => new Response(null, { status: 204 }), UnexpectedAnswerError, 204],
    ["null", () => answer(200, "null"), UnexpectedAnswerError, 200],
    ["null for 404", () => answer(404, "null"), UnexpectedAnswerError, 404],
    ["data that is null", () => ok(null), UnexpectedAnswerError, 200],
    ["an amount that is text", () => ok({ ...record, amount: "1500000" }), UnexpectedAnswerError, 200],
    ["no status", () => ok({ ...record, status: undefined }), UnexpectedAnswerError, 200],
  ];
  test.each(lasting)("that only meets %s fails with what it met last", async (_, step, expected, status) => {
    const { call, sent } = verify([step(), step(), step()], { retry: { tries: 3 } });
    const error = await failure(call);
    expect(error).toBeInstanceOf(expected);
    expect((error as ClientError).status).toBe(status);
    expect(sent).toHaveLength(3);
  });

  test("of what is not there fails at once", async () => {
    const { call, sent } = verify([refuse(404)]);
    expect(await failure(call)).toBeInstanceOf(NotFoundError);
    expect(sent).toHaveLength(1);
  });

  test.each(["", ".", "..", "a/b", "a\\b", "/", "\ud800", undefined, null, 7, {}])(
    "of %j is refused",
    async (reference) => {
      const { client, time, sent } = scripted([]);
      const error = await time.run(failure(client.disbursements.verify(reference as string)));
      expect(error).toBeInstanceOf(UsageError);
      // What no path can hold is only found when the path is made.
      const text = reference === "\ud800" ? /cannot be sent/ : /^reference must be the one that create gave\.$/;
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
  ])("of %j keeps to its path", async (reference, segment) => {
    const { client, time, sent } = scripted([ok({ ...record, reference })]);
    await time.run(client.checkouts.verify(reference));
    expect(sent[0]!.url).toBe(`https://pay.example/v1/checkouts/${segment}`);
    expect(sent[0]!.body).toBeUndefined();
  });
});

const failures = (count: number) => Array.from({ length: count }, () => refuse(500));

async function pausesOf(steps: Step[], retry: RetryOptions, chance = 1) {
  const { client, time, pauses } = scripted(steps, { retry });
  time.chance = chance;
  await time.run(failure(client.disbursements.verify("DSB1")));
  return pauses();
}

describe("pauses", () => {
  test("double up to their limit, and are drawn below it", async () => {
    const retry = { tries: 7, minDelay: 100, maxDelay: 1000 };
    expect(await pausesOf(failures(7), retry)).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(await pausesOf(failures(7), retry, 0.25)).toEqual([25, 50, 100, 200, 250, 250]);
    expect(await pausesOf(failures(3), { ...retry, tries: 3, minDelay: 1 })).toEqual([1, 2]);
  });

  test("are 250 ms to 8 s, seven of them, unless set otherwise", async () => {
    expect(await pausesOf(failures(8), {})).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000]);
  });

  test.each([
    ["seconds", "3", 3000],
    ["a date", "Fri, 20 Nov 2026 10:00:07 GMT", 7000],
    ["a date gone by", "Fri, 20 Nov 2026 09:00:00 GMT", 0],
    ["nonsense", "soon", 0],
    ["a negative number", "-5", 0],
    ["nothing", "", 0],
  ])("come after Retry-After: %s", async (_, value, expected) => {
    for (const status of [429, 503]) {
      const steps = [refuse(status, { "retry-after": value }), refuse(404)];
      expect(await pausesOf(steps, { minDelay: 100 }, 0.5)).toEqual([expected + 50]);
    }
  });

  test("end when Retry-After is longer than the time left", async () => {
    expect(await pausesOf([refuse(503, { "retry-after": "60" })], {})).toEqual([]);
  });

  test("leave time for a last try", async () => {
    const { client, time, pauses } = scripted([refuse(500), refuse(500), silence], {
      retry: { minDelay: 6000, totalTime: 10_000 },
    });
    const started = time.now();
    expect(await time.run(failure(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(pauses()).toEqual([6000, 3500]);
    expect(time.now() - started).toBe(10_000);
  });

  test("and tries share the total time", async () => {
    const { client, time, sent } = scripted([silence, silence, silence], {
      timeout: 4000,
      retry: { totalTime: 9000, minDelay: 1 },
    });
    const started = time.now();
    expect(await time.run(failure(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(sent).toHaveLength(3);
    expect(time.now() - started).toBe(9000);
  });
});

describe("a signal", () => {
  test("ends a try at once, though fetch pays no heed to it", async () => {
    const controller = new AbortController();
    const deaf: Step = () => {
      queueMicrotask(() => controller.abort());
      return new Promise(() => {});
    };
    const { client, time } = scripted([deaf]);
    const started = time.now();
    const error = await time.run(failure(client.disbursements.verify("DSB1", { signal: controller.signal })));
    expect(error).toBeInstanceOf(AbortedError);
    expect((error as Error).message).toBe("Aborted.");
    expect([time.waiting, time.now() - started]).toEqual([0, 0]);
  });

  test("ends a pause at once", async () => {
    const controller = new AbortController();
    const { client, time, sent } = scripted([refuse(500)], {
      hooks: { onRetry: () => setImmediate(() => controller.abort()) },
    });
    const started = time.now();
    const error = await time.run(failure(client.disbursements.verify("DSB1", { signal: controller.signal })));
    expect(error).toBeInstanceOf(AbortedError);
    expect([sent.length, time.now() - started, time.waiting]).toEqual([1, 0, 0]);
  });

  test("is not listened to any more after the call", async () => {
    let listeners: string[] = [];
    const watched = {
      aborted: false,
      addEventListener: (type: string) => void listeners.push(type),
      removeEventListener: (type: string) => void (listeners = listeners.filter((one) => one !== type)),
    };
    const { client, time } = scripted([refuse(500), ok(record)]);
    await time.run(client.disbursements.verify("DSB1", { signal: watched as unknown as AbortSignal }));
    expect(listeners).toEqual([]);
  });
});

describe("the time for a try", () => {
  test("covers reading the answer", async () => {
    const endless = new Response(new ReadableStream({ start: () => {} }), { status: 200 });
    const { client, time } = scripted([endless], { timeout: 700, retry: { tries: 1 } });
    const started = time.now();
    expect(await time.run(failure(client.disbursements.verify("DSB1")))).toBeInstanceOf(TimeoutError);
    expect(time.now() - started).toBe(700);
  });

  test("covers the function that gives the key, after which nothing is sent", async () => {
    const asked = Promise.withResolvers<string>();
    const options = { apiKey: () => asked.promise, timeout: 700, retry: { tries: 1 } };
    const { client, time, sent } = scripted([], options);
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(TimeoutError);
    asked.resolve(key);
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
  });

  test("can be set for one call", async () => {
    const { client, time } = scripted([silence], { timeout: 700 });
    const started = time.now();
    await time.run(failure(client.disbursements.verify("DSB1", { timeout: 50, retry: { tries: 1 } })));
    expect(time.now() - started).toBe(50);
  });
});

test("a body that breaks off is a broken connection", async () => {
  const broken = new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode('{"statusCode":200'));
      stream.error(new TypeError("terminated"));
    },
  });
  const { client, time } = scripted([new Response(broken), ok(created)]);
  expect(await time.run(client.disbursements.create(payout))).toEqual({ ...created, recovered: false });
});
