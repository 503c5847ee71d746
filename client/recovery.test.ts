import { describe, expect, test } from "vitest";
import {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./index.ts";
import {
  connectionLost,
  connectionRefused,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  noResponse,
  ok,
  reachedClient,
  record,
  refusal,
  rejectionOf,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const here = "/v1/disbursements/DSB1";
const list = (...items: unknown[]) => ok({ items });

describe("a create that receives a definite response", () => {
  test("returns the created record with recovered: false", async () => {
    const { client, time, sent } = scriptedClient([ok(disbursementCreated)]);
    expect(await time.run(client.disbursements.create(disbursementRequest))).toEqual({
      ...disbursementCreated,
      recovered: false,
    });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      method: "POST",
      url: "https://pay.example/v1/disbursements",
      body: disbursementRequest,
    });
    expect(time.waiting).toBe(0);
  });

  test.each([400, 401, 403, 404, 413, 415, 422])("fails on %i without a retry", async (status) => {
    const { client, time, sent } = scriptedClient([refusal(status)]);
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toMatchObject({
      status,
      requestId: "req_1",
    });
    expect(sent).toHaveLength(1);
  });
});

describe("a bare status, as sent by a gateway", () => {
  test("429 is a refusal, because whoever limits the rate passes nothing on", async () => {
    const { client, time } = scriptedClient([respond(429)], { retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(RateLimitError);
  });

  const bare: [string, () => Step, new (message: string) => Error][] = [
    ["401", () => respond(401), AuthenticationError],
    ["403", () => respond(403), UnexpectedAnswerError],
    ["401 with a gateway's JSON", () => respond(401, { error: "Unauthorized" }), AuthenticationError],
    ["403 with a gateway's JSON", () => respond(403, { message: "Forbidden" }), UnexpectedAnswerError],
    ["403 with a page", () => respond(403, "<html>Blocked"), UnexpectedAnswerError],
    ["400 with another status in its body", () => respond(400, { statusCode: 401, error: "x" }), UnexpectedAnswerError],
  ];
  test.each(bare)("%s proves nothing, so the outcome is unknown", async (_, step, cause) => {
    const { client, time, sent } = scriptedClient([step()]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(cause);
    expect(sent).toHaveLength(1);
  });

  test.each(bare)("%s is resolved by the record if the list has it", async (_, step) => {
    const { client, time, sent } = await reachedClient([step(), step(), list(record)], { retry: { tries: 2 } });
    expect(await time.run(client.disbursements.create(disbursementRequest))).toEqual({ ...record, recovered: true });
    expect(sent[2]).toMatchObject({
      method: "GET",
      url: "https://pay.example/v1/disbursements?merchantsReference=payroll-1",
    });
  });
});

test("middleware of the raw client does not affect a create", async () => {
  const { client, time } = scriptedClient([connectionLost()], { retry: { tries: 1 } });
  client.raw.use({ onError: () => respond(422, { statusCode: 422, error: "Refused" }) });
  expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toBeInstanceOf(
    OutcomeUnknownError,
  );
});

describe("a 409 on the first attempt", () => {
  const cases = [
    ["carries the record that matches", [duplicate(here), ok(record)], record, true],
    ["carries a record with another amount", [duplicate(here), ok({ ...record, amount: 1 })], { amount: 1 }, false],
    ["is still a duplicate after a 429", [refusal(429), duplicate(here), ok(record)], record, true],
    [
      "is still a duplicate after a refused connection",
      [connectionRefused(), duplicate(here), ok(record)],
      record,
      true,
    ],
  ] as [string, Step[], object, boolean][];
  test.each(cases)("%s", async (_, steps, existing, matches) => {
    const { client, time } = scriptedClient(steps);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    const { existing: found, ...rest } = error as DuplicateReferenceError;
    expect(rest).toMatchObject({ name: "DuplicateReferenceError", status: 409, requestId: "req_1", matches });
    expect(found).toMatchObject(existing);
  });

  test.each([
    ["without Location", [duplicate()]],
    ["whose record is not found", [duplicate(here), refusal(404)]],
    ["whose Location names another reference", [duplicate(here), ok({ ...record, merchantsReference: "x" })]],
  ] as [string, Step[]][])("%s leaves the outcome unknown: this very payment may exist", async (_, steps) => {
    const { client, time } = scriptedClient(steps);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const cause = (error as Error).cause as DuplicateReferenceError;
    expect(cause).toBeInstanceOf(DuplicateReferenceError);
    expect([cause.matches, cause.existing]).toEqual([undefined, undefined]);
  });
});

const ambiguous: [string, () => Step][] = [
  ["a lost connection", connectionLost],
  ["no response", () => noResponse],
  ["500", () => refusal(500)],
  ["a proxy page with status 502", () => respond(502, "<html>")],
  ["503", () => refusal(503)],
  ["504", () => respond(504, "")],
  ["a page with status 200", () => respond(200, "<html>")],
  ["a truncated response", () => respond(200, '{"statusCode":200,"data":{"refer')],
  ["a response about another payout", () => ok({ ...disbursementCreated, merchantsReference: "payroll-2" })],
  ["a response with another amount", () => ok({ ...disbursementCreated, amount: 15000 })],
  ["a response without a reference", () => ok({ ...disbursementCreated, reference: "" })],
  ["a redirect", () => respond(302, "", { location: "https://elsewhere.example/" })],
  ["a page with status 404", () => respond(404, "<html>")],
  ["an empty 409", () => respond(409, "")],
  ["a 500 with an unknown error body", () => respond(500, { error: { toString: 1 }, message: [[1]] })],
  ["a response whose status is not a string", () => ok({ ...disbursementCreated, status: { toString: 1 } })],
];

describe.each(ambiguous)("after %s", (_, step) => {
  test("a 409 leads to the record, which is returned with recovered: true", async () => {
    const { client, time, sent } = await reachedClient([step(), duplicate(here), ok({ ...record, status: "success" })]);
    const result = await time.run(client.disbursements.create(disbursementRequest));
    expect(result).toEqual({ ...record, status: "success", recovered: true });
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST https://pay.example/v1/disbursements",
      "POST https://pay.example/v1/disbursements",
      "GET https://pay.example/v1/disbursements/DSB1",
    ]);
    expect(sent[1]!.body).toEqual(sent[0]!.body);
  });

  test("a successful retry is returned", async () => {
    const { client, time } = await reachedClient([step(), ok(disbursementCreated)]);
    expect(await time.run(client.disbursements.create(disbursementRequest))).toEqual({
      ...disbursementCreated,
      recovered: false,
    });
  });

  test("a 409 without Location leaves the outcome unknown, and the error says what to do", async () => {
    const { client, time } = await reachedClient([step(), duplicate()]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).message).toMatch(/Call resume\(\) for payroll-1\.$/);
  });

  test.each([401, 422])("%i leaves the outcome unknown", async (status) => {
    const { client, time } = await reachedClient([step(), refusal(status)]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(status === 401 ? AuthenticationError : ValidationError);
  });

  test("running out of attempts leaves the outcome unknown", async () => {
    const { client, time, sent } = await reachedClient([step(), step()], { retry: { tries: 2 } });
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toBeInstanceOf(
      OutcomeUnknownError,
    );
    expect(sent.map(({ method }) => method)).toEqual(["POST", "POST", "GET", "GET"]);
  });
});

describe("the record behind a 409 after an ambiguous attempt", () => {
  const other = [
    ["amount", { amount: 1 }],
    ["recipient", { customer: { ...record.customer, phoneNumber: "2250000000000" } }],
    ["country", { country: "NG" }],
    ["currency", { currency: "NGN" }],
  ] as const;
  test.each(other)("is reported as another payout if it differs: %s", async (_, difference) => {
    const { client, time } = scriptedClient([connectionLost(), duplicate(here), ok({ ...record, ...difference })]);
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    expect(error).toMatchObject({ matches: false, existing: { reference: "DSB1" } });
  });

  const leads: [string, string][] = [
    ["a path", "/v1/disbursements/DSB1"],
    ["a path with a query and a fragment", "/v1/disbursements/DSB1?x=1/2#y/z"],
    ["a single segment", "DSB1"],
    ["another origin", "https://evil.example/v1/disbursements/DSB1"],
    ["an escaped segment", "/v1/disbursements/%44SB1"],
  ];
  test.each(leads)("is read from the client's own baseUrl if Location is %s", async (_, location) => {
    const { client, time, sent } = scriptedClient([connectionLost(), duplicate(location), ok(record)], {
      baseUrl: "https://pay.example/api//",
    });
    expect(await time.run(client.disbursements.create(disbursementRequest))).toMatchObject({ recovered: true });
    expect(sent[2]!.url).toBe("https://pay.example/api/v1/disbursements/DSB1");
  });

  test.each(["", "/", "/v1/disbursements/", "/v1/..", "/v1/%2e%2e", "/v1/a%2fb", "/v1/%", "https://evil.example"])(
    "is not read if Location is %j",
    async (location) => {
      const { client, time, sent } = scriptedClient([connectionLost(), duplicate(location)]);
      // The last segment of a bare origin is empty.
      const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(sent.filter(({ url }) => !url.startsWith("https://pay.example/v1/disbursements"))).toEqual([]);
    },
  );

  test("is read again after a transient failure", async () => {
    const { client, time } = scriptedClient([
      connectionLost(),
      duplicate(here),
      connectionLost(),
      refusal(500),
      ok(record),
    ]);
    expect(await time.run(client.disbursements.create(disbursementRequest))).toMatchObject({ recovered: true });
  });

  test.each([
    ["returns 401", refusal(401), AuthenticationError],
    ["returns 404", refusal(404), NotFoundError],
    ["has another merchantsReference", ok({ ...record, merchantsReference: "payroll-2" }), TimeoutError],
    ["is another record", ok({ ...record, reference: "DSB2" }), UnexpectedAnswerError],
  ])("leaves the outcome unknown if it %s, and the causes say why", async (_, last, cause) => {
    const steps = [connectionLost(), duplicate(here), last, list(), list()];
    if (cause === NotFoundError || cause === UnexpectedAnswerError) steps.splice(3, 0, last.clone());
    const { client, time } = scriptedClient(steps, { retry: { tries: 2 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const duplicated = (error as Error).cause as Error;
    expect(duplicated).toMatchObject({ status: 409, requestId: "req_1" });
    expect(duplicated.cause).toBeInstanceOf(cause);
  });
});

describe("a create without a definite response", () => {
  test("throws ConnectionError if no attempt reached the service", async () => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 8 }, connectionRefused));
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toBeInstanceOf(
      ConnectionError,
    );
    expect(sent).toHaveLength(8);
  });

  test("throws RateLimitError if every attempt returned 429", async () => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 8 }, () => refusal(429)));
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toBeInstanceOf(
      RateLimitError,
    );
    expect(sent).toHaveLength(8);
  });

  test("is unknown if only the last attempt was ambiguous", async () => {
    const { client, time } = scriptedClient([refusal(429), refusal(500)], { retry: { tries: 2 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(ServerError);
  });

  test("is unknown if an unreachable service follows an ambiguous attempt", async () => {
    const { client, time } = scriptedClient([refusal(500), connectionRefused()], { retry: { tries: 2 } });
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toBeInstanceOf(
      OutcomeUnknownError,
    );
  });

  test("throws AbortedError if the signal is aborted before anything is sent", async () => {
    const { client, time, sent } = scriptedClient([]);
    const error = await time.run(
      rejectionOf(client.disbursements.create(disbursementRequest, { signal: AbortSignal.abort() })),
    );
    expect(error).toBeInstanceOf(AbortedError);
    expect(sent).toEqual([]);
  });

  test("is unknown if the signal is aborted while waiting for a response", async () => {
    const controller = new AbortController();
    const abort: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { client, time } = scriptedClient([abort]);
    const error = await time.run(
      rejectionOf(client.disbursements.create(disbursementRequest, { signal: controller.signal })),
    );
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(AbortedError);
  });

  test.each([
    ["unknown", refusal(500), OutcomeUnknownError],
    ["aborted", refusal(429), AbortedError],
  ])("is %s if the signal is aborted in the delay after such an attempt", async (_, first, expected) => {
    const controller = new AbortController();
    const hooks = { onRetry: () => controller.abort() };
    const { client, time, sent } = scriptedClient([first], { hooks });
    const started = time.now();
    const error = await time.run(
      rejectionOf(client.disbursements.create(disbursementRequest, { signal: controller.signal })),
    );
    expect(error).toBeInstanceOf(expected);
    expect(time.now()).toBe(started);
    expect(sent).toHaveLength(1);
  });
});

describe("the request of a create", () => {
  test("is the same on every attempt, even if the caller changes its object", async () => {
    const mine = { ...disbursementRequest };
    const { client, time, sent } = scriptedClient([refusal(500), ok(disbursementCreated)], {
      hooks: { onRetry: () => void (mine.amount = 1) },
    });
    await time.run(client.disbursements.create(mine));
    expect(sent.map(({ body }) => body)).toEqual([disbursementRequest, disbursementRequest]);
  });

  test.each([undefined, "", 7, null])("is not sent if the payout's reference is %j", async (reference) => {
    const { client, time, sent } = scriptedClient([]);
    const error = await time.run(
      rejectionOf(client.disbursements.create({ ...disbursementRequest, reference: reference as string })),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(sent).toEqual([]);
  });

  test("is not sent if it is undefined", async () => {
    const { client, time } = scriptedClient([]);
    expect(await time.run(rejectionOf(client.disbursements.create(undefined as never)))).toBeInstanceOf(UsageError);
  });

  test("is not sent if it cannot be serialised as JSON", async () => {
    const { client, time, sent } = scriptedClient([]);
    const error = await time.run(
      rejectionOf(client.disbursements.create({ ...disbursementRequest, amount: 5n as unknown as number })),
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(sent).toEqual([]);
  });
});
