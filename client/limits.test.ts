import { describe, expect, test, vi } from "vitest";
import {
  AbortedError,
  AuthenticationError,
  OutcomeUnknownError,
  TimeoutError,
  UnexpectedAnswerError,
} from "./index.ts";
import {
  connectionLost,
  disbursementRequest,
  duplicate,
  noResponse,
  ok,
  record,
  refusal,
  rejectionOf,
  scriptedClient,
} from "./testing/fakes.ts";

const mebibyte = 1024 ** 2;

/** A body of chunks of 1 MiB, and how many of them were read. */
function bodyOf(count: number) {
  const body = {
    read: 0,
    cancelled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        pull(stream) {
          if (body.read++ < count) stream.enqueue(new Uint8Array(mebibyte).fill(32));
          else stream.close();
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
  test.each([200, 404, 500])("that is endless is not read beyond 8 MiB: status %i", async (status) => {
    const body = bodyOf(Infinity);
    const { client, time } = scriptedClient([new Response(body.stream, { status })], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.verify("DSB1")));
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect((error as Error).message).toMatch(/^The response has more than 8388608 bytes\.$/);
    expect([body.read, body.cancelled]).toEqual([9, true]);
  });

  test.each([
    ["compressed", { "content-length": "100", "content-encoding": "gzip" }],
    ["longer than it says at first", { "content-length": `${9 * mebibyte}` }],
  ])("that is %s is limited, too", async (_, headers) => {
    const body = bodyOf(Infinity);
    const { client, time } = scriptedClient([new Response(body.stream, { headers })], { retry: { tries: 1 } });
    expect(await time.run(rejectionOf(client.disbursements.verify("DSB1")))).toBeInstanceOf(UnexpectedAnswerError);
    expect(body.read).toBe(9);
  });

  test.each<Record<string, string>>([{}, { "content-length": "100", "content-encoding": "gzip" }])(
    "that is endless is not read beyond 8 MiB by the plain client: %j",
    async (headers) => {
      const body = bodyOf(Infinity);
      const { client } = scriptedClient([new Response(body.stream, { headers })]);
      const reading = client.raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: "DSB1" } } });
      expect(await rejectionOf(reading)).toBeInstanceOf(UnexpectedAnswerError);
      expect([body.read, body.cancelled]).toEqual([9, true]);
    },
  );

  test("of 8 MiB is read", async () => {
    const text = new TextEncoder().encode(JSON.stringify({ statusCode: 200, data: record }));
    const rest = 8 * mebibyte - text.length;
    const body = new Response(new Blob([text, new Uint8Array(rest).fill(32)]).stream());
    const { client, time } = scriptedClient([body]);
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(record);
  });

  test("is decoded as a whole, even if a character is split between two chunks", async () => {
    const data = { ...record, customer: { ...record.customer, name: "Zoé 🙂" } };
    const bytes = new TextEncoder().encode(JSON.stringify({ statusCode: 200, data }));
    const stream = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const { client, time } = scriptedClient([new Response(stream)]);
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(data);
  });

  test("may be missing", async () => {
    const { client, time } = scriptedClient([new Response(null, { status: 503 })], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.verify("DSB1")));
    expect(error).toMatchObject({ name: "ServerError", status: 503 });
  });

  test("that is too large is retried, and a create is resolved by its record", async () => {
    const steps = [new Response(bodyOf(Infinity).stream), duplicate("/v1/disbursements/DSB1"), ok(record)];
    const { client, time } = scriptedClient(steps);
    expect(await time.run(client.disbursements.create(disbursementRequest))).toMatchObject({ recovered: true });
  });
});

describe("the signals of the client and of a call", () => {
  test.each([0, 1])("each abort the call, with the reason as cause: %i", async (which) => {
    const controllers = [new AbortController(), new AbortController()];
    const reason = new Error("shutting down");
    const { client, time } = scriptedClient(
      [
        () => {
          controllers[which]!.abort(reason);
          return new Promise(() => {});
        },
      ],
      { signal: controllers[0]!.signal },
    );
    const error = await time.run(rejectionOf(client.disbursements.verify("DSB1", { signal: controllers[1]!.signal })));
    expect(error).toBeInstanceOf(AbortedError);
    expect((error as Error).cause).toBe(reason);
  });

  test("get no listeners, of which Node 20 reports more than ten as a leak", async () => {
    const [ofClient, ofCall] = [new AbortController().signal, new AbortController().signal];
    const listeners = [ofClient, ofCall].map((signal) => vi.spyOn(signal, "addEventListener"));
    const { client, time } = scriptedClient([noResponse, noResponse], { signal: ofClient, retry: { tries: 1 } });
    for (const signal of [undefined, ofCall]) {
      const error = await time.run(rejectionOf(client.disbursements.verify("DSB1", signal && { signal })));
      expect(error).toBeInstanceOf(TimeoutError);
    }
    for (const added of listeners) expect(added).not.toHaveBeenCalled();
  });

  test("both end waitFor, which keeps what it read", async () => {
    for (const which of [0, 1]) {
      const controllers = [new AbortController(), new AbortController()];
      const { client, time } = scriptedClient([ok(record)], {
        signal: controllers[0]!.signal,
        hooks: { onRetry: () => controllers[which]!.abort("enough") },
      });
      const call = client.disbursements.waitFor("DSB1", { signal: controllers[1]!.signal });
      const error = (await time.run(rejectionOf(call))) as AbortedError;
      expect([error.name, error.cause, error.last]).toEqual(["AbortedError", "enough", record]);
    }
  });
});

describe("waitFor", () => {
  test.each([
    ["no response", () => noResponse, "TimeoutError"],
    ["500", () => refusal(500), "ServerError"],
    ["a lost connection", connectionLost, "ConnectionError"],
  ])("keeps the record if its last look ends with %s", async (_, step, cause) => {
    const { client, time } = scriptedClient([ok(record), step(), step()], { timeout: 20_000 });
    const call = client.disbursements.waitFor("DSB1", { timeout: 2000, minDelay: 1000 });
    const error = (await time.run(rejectionOf(call))) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect([error.message, error.last, error.reference]).toEqual(["Still pending.", record, "DSB1"]);
    expect((error.cause as Error).name).toBe(cause);
    expect(JSON.stringify(error)).not.toContain(record.customer.phoneNumber);
  });

  test("keeps the record if the key is refused meanwhile", async () => {
    const { client, time } = scriptedClient([ok(record), refusal(401)]);
    const error = await time.run(rejectionOf(client.disbursements.waitFor("DSB1")));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ last: record });
  });
});

test("an apiKey function that fails after an attempt that may have been recorded leaves the outcome unknown", async () => {
  let count = 0;
  const apiKey = () => {
    if (count++ > 0) throw new Error("vault is locked");
    return "key";
  };
  const { client, time, sent } = scriptedClient([connectionLost()], { apiKey });
  const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect((error as Error).cause).toBeInstanceOf(AuthenticationError);
  expect(sent).toHaveLength(1);
});
