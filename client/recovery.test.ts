import { describe, expect, test } from "vitest";
import {
  answer,
  created,
  duplicate,
  failure,
  link,
  lost,
  notReached,
  ok,
  order,
  payout,
  record,
  refuse,
  scripted,
  silence,
} from "./testing/fakes.ts";
import {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  DuplicateReferenceError,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitError,
  ServerError,
  UnexpectedAnswerError,
  UsageError,
  ValidationError,
} from "./index.ts";
import type { Step } from "./testing/fakes.ts";

const here = "/v1/disbursements/DSB1";

describe("a create that is answered", () => {
  test("returns what the service answered, marked as not recovered", async () => {
    const { client, time, sent } = scripted([ok(created)]);
    expect(await time.run(client.disbursements.create(payout))).toEqual({ ...created, recovered: false });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ method: "POST", url: "https://pay.example/v1/disbursements", body: payout });
    expect(time.waiting).toBe(0);
  });

  test.each([400, 401, 403, 404, 413, 415, 422])("a refusal with %i ends it at once", async (status) => {
    const { client, time, sent } = scripted([refuse(status)]);
    expect(await time.run(failure(client.disbursements.create(payout)))).toMatchObject({ status, requestId: "req_1" });
    expect(sent).toHaveLength(1);
  });
});

test.each([
  [401, AuthenticationError],
  [429, RateLimitError],
])("a bare %i, as gateways give it, is a refusal too", async (status, Kind) => {
  const { client, time } = scripted([answer(status)], { retry: { tries: 1 } });
  expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(Kind);
});

test("middleware of the raw client has no say in what a create is told", async () => {
  const { client, time } = scripted([lost()], { retry: { tries: 1 } });
  client.raw.use({ onError: () => answer(422, { statusCode: 422, error: "Refused" }) });
  expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(OutcomeUnknownError);
});

test.each(["https://pay.example", "https://pay.example/api"])(
  "a duplicate without Location is looked for nowhere: %s",
  async (baseUrl) => {
    const { client, time, sent } = scripted([duplicate()], { baseUrl });
    await time.run(failure(client.disbursements.create(payout)));
    expect(sent).toHaveLength(1);
  },
);

const nothing = {};

describe("a duplicate on the first try", () => {
  const cases = [
    ["carries the record that matches", [duplicate(here), ok(record)], record, true],
    ["carries a record with another amount", [duplicate(here), ok({ ...record, amount: 1 })], { amount: 1 }, false],
    ["carries nothing without Location", [duplicate()], nothing, undefined],
    ["carries nothing when the record is not found", [duplicate(here), refuse(404)], nothing, undefined],
    [
      "carries nothing of another reference",
      [duplicate(here), ok({ ...record, merchantsReference: "x" })],
      nothing,
      undefined,
    ],
    ["stays one after being told to slow down", [refuse(429), duplicate(here), ok(record)], record, true],
    ["stays one when nothing was reached before", [notReached(), duplicate(here), ok(record)], record, true],
  ] as [string, Step[], object, boolean | undefined][];
  test.each(cases)("%s", async (_, steps, existing, matches) => {
    const { client, time } = scripted(steps);
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    const { existing: found, ...rest } = error as DuplicateReferenceError;
    expect(rest).toMatchObject({ name: "DuplicateReferenceError", status: 409, requestId: "req_1", matches });
    expect(found ?? {}).toMatchObject(existing);
    expect(!!found).toBe(existing !== nothing);
  });
});

const ambiguous: [string, () => Step][] = [
  ["a lost connection", lost],
  ["silence", () => silence],
  ["500", () => refuse(500)],
  ["502 from a proxy", () => answer(502, "<html>")],
  ["503", () => refuse(503)],
  ["504", () => answer(504, "")],
  ["a page with status 200", () => answer(200, "<html>")],
  ["a truncated answer", () => answer(200, '{"statusCode":200,"data":{"refer')],
  ["an answer about another payout", () => ok({ ...created, merchantsReference: "payroll-2" })],
  ["an answer with another amount", () => ok({ ...created, amount: 15000 })],
  ["an answer without a reference", () => ok({ ...created, reference: "" })],
  ["a redirect", () => answer(302, "", { location: "https://elsewhere.example/" })],
  ["a page with status 404", () => answer(404, "<html>")],
  ["an empty 409", () => answer(409, "")],
  ["a failure in an unknown form", () => answer(500, { error: { toString: 1 }, message: [[1]] })],
  ["an answer whose status is no text", () => ok({ ...created, status: { toString: 1 } })],
];

describe.each(ambiguous)("after %s", (_, step) => {
  test("a duplicate is followed to the record, which is returned as recovered", async () => {
    const { client, time, sent } = scripted([step(), duplicate(here), ok({ ...record, status: "success" })]);
    const result = await time.run(client.disbursements.create(payout));
    expect(result).toEqual({ ...record, status: "success", recovered: true });
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST https://pay.example/v1/disbursements",
      "POST https://pay.example/v1/disbursements",
      "GET https://pay.example/v1/disbursements/DSB1",
    ]);
    expect(sent[1]!.body).toEqual(sent[0]!.body);
  });

  test("a success is returned", async () => {
    const { client, time } = scripted([step(), ok(created)]);
    expect(await time.run(client.disbursements.create(payout))).toEqual({ ...created, recovered: false });
  });

  test("a duplicate that leads nowhere leaves the outcome unknown, and the error says what to do", async () => {
    const { client, time } = scripted([step(), duplicate()]);
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).message).toMatch(/create again with the same reference \(payroll-1\)/);
  });

  test.each([401, 422])("a refusal with %i leaves the outcome unknown", async (status) => {
    const { client, time } = scripted([step(), refuse(status)]);
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(status === 401 ? AuthenticationError : ValidationError);
  });

  test("no further try leaves the outcome unknown", async () => {
    const { client, time, sent } = scripted([step(), step()], { retry: { tries: 2 } });
    expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(OutcomeUnknownError);
    expect(sent).toHaveLength(2);
  });
});

describe("the record behind a duplicate after an ambiguous try", () => {
  const other = [
    ["amount", { amount: 1 }],
    ["recipient", { customer: { ...record.customer, phoneNumber: "2250000000000" } }],
    ["country", { country: "NG" }],
    ["currency", { currency: "NGN" }],
    ["recipient left out", { customer: undefined }],
  ] as const;
  test.each(other)("differs in %s: the reference belongs to another payout", async (_, difference) => {
    const { client, time } = scripted([lost(), duplicate(here), ok({ ...record, ...difference })]);
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(DuplicateReferenceError);
    expect(error).toMatchObject({ matches: false, existing: { reference: "DSB1" } });
  });

  const leads: [string, string][] = [
    ["a path", "/v1/disbursements/DSB1"],
    ["a path with an end slash and a query", "/v1/disbursements/DSB1?x=1/2#y/z"],
    ["one segment", "DSB1"],
    ["another origin", "https://evil.example/v1/disbursements/DSB1"],
    ["an escaped segment", "/v1/disbursements/%44SB1"],
  ];
  test.each(leads)("is looked up under the client's own address: Location is %s", async (_, location) => {
    const { client, time, sent } = scripted([lost(), duplicate(location), ok(record)], {
      baseUrl: "https://pay.example/api//",
    });
    expect(await time.run(client.disbursements.create(payout))).toMatchObject({ recovered: true });
    expect(sent[2]!.url).toBe("https://pay.example/api/v1/disbursements/DSB1");
  });

  test.each(["", "/", "/v1/disbursements/", "/v1/..", "/v1/%2e%2e", "/v1/a%2fb", "/v1/%", "https://evil.example"])(
    "is not looked up when Location is %j",
    async (location) => {
      const { client, time, sent } = scripted([lost(), duplicate(location)]);
      // The bare origin has a last segment of its own, which must not be found either.
      const error = await time.run(failure(client.disbursements.create(payout)));
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(sent.filter(({ url }) => !url.startsWith("https://pay.example/v1/disbursements"))).toEqual([]);
    },
  );

  test("is looked up again when the look-up itself fails in passing", async () => {
    const { client, time } = scripted([lost(), duplicate(here), lost(), refuse(500), ok(record)]);
    expect(await time.run(client.disbursements.create(payout))).toMatchObject({ recovered: true });
  });

  test.each([
    ["cannot be read", refuse(401), AuthenticationError],
    ["is not there", refuse(404), NotFoundError],
    ["has another reference of the merchant", ok({ ...record, merchantsReference: "payroll-2" }), undefined],
    ["is another record", ok({ ...record, reference: "DSB2" }), UnexpectedAnswerError],
  ])("%s: the outcome is unknown, and the causes say why", async (_, last, cause) => {
    const { client, time } = scripted([lost(), duplicate(here), last, last.clone()], { retry: { tries: 2 } });
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const duplicated = (error as Error).cause as Error;
    expect(duplicated).toMatchObject({ status: 409, requestId: "req_1" });
    if (cause) expect(duplicated.cause).toBeInstanceOf(cause);
    else expect(duplicated.cause).toBeUndefined();
  });
});

describe("a create that comes to nothing", () => {
  test("is a ConnectionError when no try reached the service", async () => {
    const { client, time, sent } = scripted(Array.from({ length: 8 }, notReached));
    expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(ConnectionError);
    expect(sent).toHaveLength(8);
  });

  test("is a RateLimitError when every try was told to slow down", async () => {
    const { client, time, sent } = scripted(Array.from({ length: 8 }, () => refuse(429)));
    expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(RateLimitError);
    expect(sent).toHaveLength(8);
  });

  test("is unknown when the last of several tries was the only ambiguous one", async () => {
    const { client, time } = scripted([refuse(429), refuse(500)], { retry: { tries: 2 } });
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(ServerError);
  });

  test("is unknown when a try that reached nothing follows an ambiguous one", async () => {
    const { client, time } = scripted([refuse(500), notReached()], { retry: { tries: 2 } });
    expect(await time.run(failure(client.disbursements.create(payout)))).toBeInstanceOf(OutcomeUnknownError);
  });

  test("is aborted when the signal ends before anything is sent", async () => {
    const { client, time, sent } = scripted([]);
    const error = await time.run(failure(client.disbursements.create(payout, { signal: AbortSignal.abort() })));
    expect(error).toBeInstanceOf(AbortedError);
    expect(sent).toEqual([]);
  });

  test("is unknown when the signal ends while an answer is awaited", async () => {
    const controller = new AbortController();
    const abort: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { client, time } = scripted([abort]);
    const error = await time.run(failure(client.disbursements.create(payout, { signal: controller.signal })));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(AbortedError);
  });

  test.each([
    ["unknown", refuse(500), OutcomeUnknownError],
    ["aborted", refuse(429), AbortedError],
  ])("is %s when the signal ends in the pause after such a try", async (_, first, expected) => {
    const controller = new AbortController();
    const hooks = { onRetry: () => controller.abort() };
    const { client, time, sent } = scripted([first], { hooks });
    const started = time.now();
    const error = await time.run(failure(client.disbursements.create(payout, { signal: controller.signal })));
    expect(error).toBeInstanceOf(expected);
    expect(time.now()).toBe(started);
    expect(sent).toHaveLength(1);
  });
});

describe("what is sent", () => {
  test("stays the same on every try, whatever happens to the caller's object", async () => {
    const mine = { ...payout };
    const { client, time, sent } = scripted([refuse(500), ok(created)], {
      hooks: { onRetry: () => void (mine.amount = 1) },
    });
    await time.run(client.disbursements.create(mine));
    expect(sent.map(({ body }) => body)).toEqual([payout, payout]);
  });

  test.each([undefined, "", 7, null])("is nothing when the payout's reference is %j", async (reference) => {
    const { client, time, sent } = scripted([]);
    const error = await time.run(failure(client.disbursements.create({ ...payout, reference: reference as string })));
    expect(error).toBeInstanceOf(UsageError);
    expect(sent).toEqual([]);
  });

  test("is nothing when there is no request", async () => {
    const { client, time } = scripted([]);
    expect(await time.run(failure(client.disbursements.create(undefined as never)))).toBeInstanceOf(UsageError);
  });

  test("is nothing when the request cannot become JSON", async () => {
    const { client, time, sent } = scripted([]);
    const error = await time.run(failure(client.disbursements.create({ ...payout, amount: 5n as unknown as number })));
    expect(error).toBeInstanceOf(UsageError);
    expect(sent).toEqual([]);
  });
});

describe("a checkout", () => {
  const at = "/v1/checkouts/CHK1";
  const stored = { ...record, reference: "CHK1", merchantsReference: "order-1", amount: 2500000, customer: undefined };

  test("is made", async () => {
    const { client, time, sent } = scripted([ok(link)]);
    expect(await time.run(client.checkouts.create(order))).toEqual({ ...link, recovered: false });
    expect(sent[0]).toMatchObject({ method: "POST", url: "https://pay.example/v1/checkouts", body: order });
  });

  test("is recovered without a link, and without a recipient to compare", async () => {
    const { client, time } = scripted([lost(), duplicate(at), ok(stored)]);
    const checkout = await time.run(client.checkouts.create(order));
    expect(checkout).toMatchObject({ reference: "CHK1", recovered: true });
    expect(checkout.url).toBeUndefined();
  });

  test("needs no reference, and may then be made again", async () => {
    const { reference: _, ...anonymous } = order;
    const { client, time } = scripted([lost(), ok({ ...link, merchantsReference: "CHK1" })]);
    expect(await time.run(client.checkouts.create(anonymous))).toMatchObject({ recovered: false, url: link.url });
  });

  test("without a reference that stays unanswered may be made again all the same", async () => {
    const { reference: _, ...anonymous } = order;
    const { client, time } = scripted([refuse(500)], { retry: { tries: 1 } });
    const error = await time.run(failure(client.checkouts.create(anonymous)));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).message).toMatch(/same reference \(none\)/);
  });

  test.each(["", null, 7])("is not made with the reference %j", async (reference) => {
    const { client, time, sent } = scripted([]);
    const error = await time.run(failure(client.checkouts.create({ ...order, reference: reference as string })));
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toBe("reference must be a text.");
    expect(sent).toEqual([]);
  });

  test("whose answer has no link is not taken for made", async () => {
    const { url: _, ...withoutLink } = link;
    const { client, time } = scripted([ok(withoutLink)], { retry: { tries: 1 } });
    expect(await time.run(failure(client.checkouts.create(order)))).toBeInstanceOf(OutcomeUnknownError);
  });
});
