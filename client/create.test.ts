// The outcome of a create of a payout, by the responses received. It is never false: only a proof that nothing was
// recorded makes it `refused`, and without a record or such a proof it is `unknown`.
import { describe, expect, test } from "vitest";
import type { ClientOptions, CreateOptions, DuplicateReferenceError } from "./index.ts";
import {
  asked,
  connectionLost,
  connectionRefused,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  here,
  list,
  noResponse,
  ok,
  page,
  reachedClient,
  record,
  refusal,
  respond,
  scriptedClient,
  times,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const { customer, ...withoutCustomer } = record;
const another = { ...record, amount: 1 };
/** A failure of `fetch`, with the error of the system that caused it. */
const failed = (cause: object) => new TypeError("fetch failed", { cause: Object.assign(new Error("no"), cause) });

const created = { outcome: "created", data: { ...disbursementCreated, recovered: false } };
const existed = { outcome: "existed", data: { ...record, recovered: true } };
const refused = (name: string, facts: object = {}) => ({ outcome: "refused", error: { name, ...facts } });
const isAnother = refused("DuplicateReferenceError", { matches: false });
/** @param cause the class of the last failure */
const unknown = (cause?: string, facts: object = {}) => ({
  outcome: "unknown",
  error: { name: "OutcomeUnknownError", ...(cause && { cause: { name: cause, ...facts } }) },
});

interface Conditions extends Partial<ClientOptions> {
  /** False: the client has never had a response of the service. */
  isReached?: boolean;
  ifExists?: CreateOptions["ifExists"];
}

/** Creates the sample payout, with these responses to its requests, in order. */
async function create(steps: Step[], { isReached = true, ifExists, ...options }: Conditions = {}) {
  const script = await (isReached ? reachedClient : scriptedClient)(steps, options);
  const started = script.time.now();
  const result = await script.create({ ifExists });
  return { ...script, result, error: result.error as Error, took: script.time.now() - started };
}

/** What is received, the result, and the requests if they matter. */
type Row = [what: string, steps: Step[], result: object, requests?: string];

function table(title: string, conditions: Conditions, rows: Row[]) {
  test.each(rows)(`${title}: %s`, async (_, steps, expected, requests) => {
    const { result, sent } = await create(steps, conditions);
    expect(result).toMatchObject(expected);
    if (requests) expect(asked(sent)).toBe(requests);
  });
}

const fastify = { error: "Unauthorized", message: "No." };
const noRoute = { code: "ENETUNREACH", syscall: "connect" };

table("at its first request", { isReached: false, retry: { tries: 1 } }, [
  ["the response", [ok(disbursementCreated)], created, "create"],
  ...Object.entries({
    400: "ValidationError",
    401: "AuthenticationError",
    403: "AuthenticationError",
    404: "NotFoundError",
    413: "ValidationError",
    415: "ValidationError",
    422: "ValidationError",
    429: "RateLimitError",
  }).map(([status, name]): Row => [
    status,
    [refusal(Number(status))],
    refused(name, { status: Number(status), requestId: "req_1" }),
    "create",
  ]),
  ["a bare 429, because a rate limiter passes nothing on", [respond(429)], refused("RateLimitError")],
  ["422 without a code (profile core)", [respond(422, { statusCode: 422, error: "x" })], refused("ValidationError")],
  // Only the service's own body proves that it refused: a gateway may have passed the request on.
  ["a bare 401", [respond(401)], unknown("AuthenticationError"), "create"],
  ["a bare 403", [respond(403)], unknown("UnexpectedAnswerError"), "create"],
  ["403 with a gateway's JSON", [respond(403, { message: "Forbidden" })], unknown("UnexpectedAnswerError")],
  ["403 with a page", [page(403)], unknown("UnexpectedAnswerError")],
  ["400 with another status in its body", [respond(400, { statusCode: 401, error: "x" })], unknown()],
  ...[401, 403, 404, 405, 413, 415].map((status): Row => [
    `the error body of a gateway's framework: ${status}`,
    [respond(status, { statusCode: status, ...fastify })],
    unknown(),
  ]),
  ["400 with a code of Fastify", [respond(400, { statusCode: 400, ...fastify, code: "FST_ERR" })], unknown()],
  ["422 with a code that is no text", [respond(422, { statusCode: 422, ...fastify, code: ["a"] })], unknown()],
  ["a refused connection", [connectionRefused()], refused("ConnectionError")],
  [
    "a refused connection in the words of Bun",
    [Object.assign(new Error("Unable to connect"), { code: "ConnectionRefused" })],
    refused("ConnectionError"),
  ],
  ["a lost connection, and nothing is looked for", [connectionLost()], unknown("ConnectionError"), "create"],
]);

test.each<[string, object, object]>([
  // A connection that was never made sent nothing.
  ["a connect time-out of undici", { code: "UND_ERR_CONNECT_TIMEOUT" }, refused("ConnectionError")],
  ["no route", noRoute, refused("ConnectionError")],
  ["no route to any address", { errors: [noRoute, { ...noRoute, code: "ETIMEDOUT" }] }, refused("ConnectionError")],
  [
    "no route to one address, and a reset of another",
    { errors: [noRoute, { code: "ECONNRESET", syscall: "read" }] },
    unknown(),
  ],
  ["no route while writing", { code: "ENETUNREACH", syscall: "write" }, unknown()],
  ...["connect_REFUSED_later", "ENOTFOUND_1", "X_EAI_AGAIN"].map((code): [string, object, object] => [
    `the unknown error code ${code}`,
    { code },
    unknown("ConnectionError"),
  ]),
  // The alert of the service about the client's certificate can follow the request.
  ["an alert of TLS", { code: "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED" }, unknown()],
])("a connection that fails: %s", async (_, cause, expected) => {
  const { result } = await create([failed(cause)], { isReached: false, retry: { tries: 1 } });
  expect(result).toMatchObject(expected);
});

table("with retries", { retry: { tries: 8 } }, [
  ["no attempt reached the service", times(8, connectionRefused), refused("ConnectionError")],
  ["every attempt was limited", times(8, () => refusal(429)), refused("RateLimitError")],
  [
    "an untrusted certificate ends the call",
    [respond(500), failed({ code: "CERT_HAS_EXPIRED" }), list()],
    unknown("ConnectionError"),
  ],
]);

table("in two attempts", { retry: { tries: 2 } }, [
  ["only the last is ambiguous", [refusal(429), refusal(500), list()], unknown("ServerError")],
  ["an unreachable service follows", [refusal(500), connectionRefused(), list()], unknown("ConnectionError")],
]);

test.each(["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID"])(
  "the certificate error %s ends a create at once, and is named",
  async (code) => {
    const { error, sent } = await create([failed({ code })]);
    expect(error.message).toBe(`Connection to https://pay.example failed: fetch failed, no, ${code}.`);
    expect(sent).toHaveLength(1);
  },
);

describe("a client that has never reached the service", () => {
  const wrong: [string, () => Step][] = [
    ["a page with 404", () => page(404)],
    ["a page with 200", () => page(200)],
    ["a redirect", () => respond(302, "", { location: "https://elsewhere.example" })],
    ["a gateway's JSON", () => respond(404, { message: "no Route matched with those values" })],
  ];
  test.each(wrong)("fails at once after %s, and says what to check", async (_, step) => {
    const { error, sent, took, failure } = await create([step(), step()], { isReached: false });
    const advice = "without the service's JSON. Check baseUrl (https://pay.example), gateways and firewalls.";
    expect(error.message).toMatch(/^Perhaps recorded\. Received \d+ /);
    expect(error.message).toContain(advice);
    expect([sent.length, took]).toEqual([1, 0]);
    const read = await failure(({ disbursements }) => disbursements.verify("DSB1"));
    expect([read.name, read.message]).toEqual(["UnexpectedAnswerError", expect.stringContaining(advice)]);
  });

  test("retries a page with 502, because the service may be starting", async () => {
    expect((await create([page(502), ok(disbursementCreated)], { isReached: false })).result).toMatchObject(created);
  });

  test("is reached by a refusal of the service, too", async () => {
    const first = respond(404, { statusCode: 404, error: "Not Found" });
    const { failure, create: pay } = scriptedClient([first, page(404), ok(disbursementCreated)]);
    await failure(({ disbursements }) => disbursements.verify("DSB1"));
    expect(await pay()).toMatchObject(created);
  });
});

table("a 409 before any ambiguous attempt", {}, [
  ["its Location leads to a record that matches", [duplicate(here), ok(record)], existed, "create read"],
  ["its Location leads to another record", [duplicate(here), ok(another)], isAnother, "create read"],
  ["after a 429", [refusal(429), duplicate(here), ok(record)], existed],
  ["after a refused connection", [connectionRefused(), duplicate(here), ok(record)], existed],
  ["without Location, the list has the record", [duplicate(), list(record)], existed, "create list"],
  ["without a code", [respond(409, { statusCode: 409, error: "x" }, { location: here }), ok(another)], isAnother],
]);

const nowhere = unknown("DuplicateReferenceError", { matches: undefined, existing: undefined });
table("a 409 whose record is not found may be this payment", { isReached: false }, [
  ["no Location", [duplicate()], nowhere],
  ["no such record", [duplicate(here), refusal(404), list()], nowhere],
  ["Location of another reference", [duplicate(here), ok({ ...record, merchantsReference: "x" })], nowhere],
]);

table('with ifExists: "return"', { ifExists: "return", isReached: false, retry: { totalTime: 1000 } }, [
  ["a payout that matches", [duplicate(here), ok(record)], existed],
  ["a new payout", [ok(disbursementCreated)], created],
  ["another payout", [duplicate(here), ok(another)], isAnother],
  ["a payout that is not found", [duplicate(here), refusal(401)], unknown("DuplicateReferenceError")],
]);

test("no other value of ifExists is known", async () => {
  const { error } = await scriptedClient([]).create({ ifExists: "skip" } as unknown as CreateOptions);
  expect(error).toMatchObject({ name: "UsageError", message: expect.stringContaining('"return"') });
});

const ambiguous: [string, () => Step][] = [
  ["a lost connection", connectionLost],
  ["no response", () => noResponse],
  ["500", () => refusal(500)],
  ["a proxy page with status 502", () => page(502)],
  ["504", () => respond(504, "")],
  ["a page with status 200", () => page(200)],
  ["a truncated response", () => respond(200, '{"statusCode":200,"data":{"refer')],
  ["a response about another payout", () => ok({ ...disbursementCreated, merchantsReference: "payroll-2" })],
  ["a response with another amount", () => ok({ ...disbursementCreated, amount: 15000 })],
  ["a redirect", () => respond(302, "", { location: "https://elsewhere.example/" })],
  ["a page with status 404", () => page(404)],
  ["a gateway's 401", () => respond(401, { error: "Unauthorized" })],
  ["an empty 409", () => respond(409, "")],
  ["a 500 with an unknown error body", () => respond(500, { error: { toString: 1 }, message: [[1]] })],
  ["a response whose status is not a string", () => ok({ ...disbursementCreated, status: { toString: 1 } })],
];

describe.each(ambiguous)("after %s", (_, step) => {
  const message = expect.stringMatching(/Call resume\(\) for payroll-1\.$/);
  const unresolved = { outcome: "unknown", error: { message } };
  const success = { ...record, status: "success" };
  table("the next request", {}, [
    ["finds the record", [step(), duplicate(here), ok(success)], { outcome: "existed", data: success }],
    ["creates it", [step(), ok(disbursementCreated)], created, "create create"],
    ["is refused, which proves nothing", [step(), refusal(422), list()], unknown("ValidationError")],
    ["has a refused key, which proves nothing", [step(), refusal(401), refusal(401)], unknown("AuthenticationError")],
    ["is a duplicate without a record", [step(), duplicate(), refusal(404)], unresolved],
  ]);
  table("the last attempt", { retry: { tries: 2 } }, [
    ["is looked for in the list, once", [step(), step(), list(record)], existed, "create create list"],
    ["an empty list proves nothing", [step(), step(), list()], unknown(), "create create list"],
  ]);
});

table("an item of the list that is not this payment", { retry: { tries: 1 } }, [
  ["another amount", [respond(500), list(another)], unknown()],
  ...[null, {}, { ...record, amount: "1" }, { ...record, merchantsReference: "x" }].map((item): Row => [
    JSON.stringify(item),
    [respond(500), list(item)],
    unknown(),
  ]),
]);

describe("the record behind a 409 after an ambiguous attempt", () => {
  const lostThen = (location: string | undefined, ...steps: Step[]) => [
    connectionLost(),
    duplicate(location),
    ...steps,
  ];
  const recipient = { customer: { phoneNumber: "2250000000000" } };
  table("is another payment if it differs", {}, [
    ["amount", lostThen(here, ok(another)), isAnother],
    ["recipient", lostThen(here, ok({ ...record, ...recipient })), isAnother],
    ["country", lostThen(here, ok({ ...record, country: "NG" })), isAnother],
    ["currency", lostThen(here, ok({ ...record, currency: "NGN" })), isAnother],
    ["amount, in a list without recipients", lostThen(undefined, list({ ...withoutCustomer, amount: 7 })), isAnother],
  ]);

  const ofOther = ok({ ...record, merchantsReference: "x" });
  table("is found", {}, [
    ["after transient failures", lostThen(here, connectionLost(), refusal(500), ok(record)), existed],
    ["when a replica has it", lostThen(here, refusal(404), refusal(404), ok(record)), existed],
    ["in the list, without Location", lostThen(undefined, list(record)), existed],
    ["in the list, if Location is of another reference", lostThen(here, ofOther, list(record)), existed],
    ["in the list, if it cannot be read", lostThen(here, refusal(401), list(record)), existed],
    ["in the list, if Location names no record", lostThen("/", list(record)), existed],
    // A gateway's page instead of the list does not prove that there is no record.
    ["after a page with 404", lostThen(undefined, page(404), list(record)), existed],
  ]);

  test("is looked for in the list after 10 s without it", async () => {
    const steps = [connectionLost(), duplicate(here), ...times(7, () => refusal(404)), list(record)];
    const { result, sent } = await create(steps, { retry: { maxDelay: 4000 } });
    expect(result).toMatchObject(existed);
    expect(sent.at(-1)!.url).toBe("https://pay.example/v1/disbursements?merchantsReference=payroll-1");
    expect(sent.at(-2)!.at - sent[2]!.at).toBeLessThanOrEqual(10_000);
  });

  test("is looked for again in a list that lags", async () => {
    const longer = { ...record, merchantsReference: "payroll-10" };
    const steps = [connectionLost(), duplicate(), list(), list(longer), list(longer, record)];
    const { result, delays } = await create(steps);
    expect(result).toMatchObject(existed);
    expect(delays().slice(2)).toEqual([250, 500]);
  });

  test.each([
    ["a path", here],
    ["a path with a query", `${here}?x=1/2#y/z`],
    ["a single segment", "DSB1"],
    ["another origin", `https://evil.example${here}`],
    ["an escaped segment", "/v1/disbursements/%44SB1"],
  ])("is read from the client's own baseUrl if Location is %s", async (_, location) => {
    const steps = [connectionLost(), duplicate(location), ok(record)];
    const { result, sent } = await create(steps, { isReached: false, baseUrl: "https://pay.example/api//" });
    expect(result).toMatchObject(existed);
    expect(sent[2]!.url).toBe("https://pay.example/api/v1/disbursements/DSB1");
  });

  test.each(["", "/", "/v1/disbursements/", "/v1/..", "/v1/%2e%2e", "/v1/a%2fb", "/v1/%", "https://evil.example"])(
    "is not read if Location is %j",
    async (location) => {
      const { result, sent } = await create([connectionLost(), duplicate(location), refusal(404)]);
      expect(result.outcome).toBe("unknown");
      expect(sent.filter(({ url }) => !url.startsWith("https://pay.example/v1/disbursements"))).toEqual([]);
    },
  );

  const unrelated = { ...record, merchantsReference: "payroll-2" };
  test.each([
    ["401", [refusal(401), list(), list()], "AuthenticationError"],
    ["404", [refusal(404), refusal(404), list(), list()], "NotFoundError"],
    ["another reference of the merchant", [ok(unrelated), list(), list()], "TimeoutError"],
    ["another record", times(2, () => ok({ ...record, reference: "DSB2" })), "UnexpectedAnswerError"],
    ["a list that never has it", [list(), list()], "TimeoutError"],
  ])("leaves the outcome unknown, and the causes say why: %s", async (what, steps, name) => {
    const location = what.startsWith("a list") ? undefined : here;
    const { error, result } = await create([connectionLost(), duplicate(location), ...steps], { retry: { tries: 2 } });
    expect(result.outcome).toBe("unknown");
    expect(error.cause).toMatchObject({ status: 409, requestId: "req_1", cause: { name } });
  });

  test.each([404, 405])(
    "stays unknown without lists (%i): one list is requested, and the error says so",
    async (status) => {
      const noList = respond(status, { statusCode: status, error: "Not Found" });
      const { error, sent } = await create([duplicate(), noList]);
      const { cause } = error.cause as DuplicateReferenceError;
      expect(cause).toMatchObject({ name: "NotFoundError", message: expect.stringMatching(/the service has no list/) });
      expect(sent).toHaveLength(2);
    },
  );
});

describe("a record that lacks a field, or has it in another form", () => {
  const incomplete: [string, object][] = [
    ["no customer", withoutCustomer],
    ["a hidden number", { ...record, customer: { ...customer, phoneNumber: "•••••••••2473" } }],
    ["no amount", { ...record, amount: undefined }],
    ["an amount as text", { ...record, amount: "1500000" }],
    ["no country", { ...record, country: null }],
    ["a currency in lower case", { ...record, currency: "xof" }],
    ["an amount in units", { ...record, amount: 15000.5 }],
    ["no status", { ...record, status: undefined }],
  ];
  test.each(incomplete)("in the list is read again as a whole: %s", async (_, item) => {
    const { result, sent } = await create([connectionLost(), duplicate(), list(null, item), ok(record)]);
    expect(result).toMatchObject(existed);
    expect(sent.at(-1)!.url).toBe("https://pay.example/v1/disbursements/DSB1");
  });

  test.each(incomplete)("proves nothing if it cannot be read as a whole: %s", async (_, item) => {
    for (const first of [[connectionLost()], []]) {
      const { error } = await create([...first, duplicate(), list(item), refusal(404)], { retry: { totalTime: 100 } });
      expect(error).toMatchObject({
        name: "OutcomeUnknownError",
        cause: { matches: undefined, existing: { reference: "DSB1" } },
      });
    }
  });
});

describe("a signal", () => {
  /** Creates the payout with a signal that is aborted while it waits for a response, or in the delay after `first`. */
  async function abort(first?: Step) {
    const controller = new AbortController();
    const wait: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const hooks = { onRetry: () => controller.abort() };
    return create([first ?? wait], { hooks, signal: controller.signal });
  }

  test.each([
    ["while it waits for a response", undefined, unknown("AbortedError")],
    ["in the delay after an ambiguous attempt", refusal(500), unknown("AbortedError")],
    ["in the delay after a refusal", refusal(429), refused("AbortedError")],
  ])("ends a create %s, and nothing is looked for", async (_, first, expected) => {
    const { result, sent, took } = await abort(first);
    expect(result).toMatchObject(expected);
    expect([sent.length, took]).toEqual([1, 0]);
  });
});

describe("the request of a create", () => {
  test("is the same on every attempt, even if the caller changes its object", async () => {
    const mine = { ...disbursementRequest };
    const { client, time, sent } = scriptedClient([refusal(500), ok(disbursementCreated)], {
      hooks: { onRetry: () => void (mine.amount = 1) },
    });
    await time.run(client.disbursements.create(mine));
    expect(sent.map(({ method, url, body }) => [method, url, body])).toEqual(
      [1, 2].map(() => ["POST", "https://pay.example/v1/disbursements", disbursementRequest]),
    );
    expect(time.waiting).toBe(0);
  });

  test.each<[string, unknown]>([
    ["no reference", { ...disbursementRequest, reference: undefined }],
    ["an empty reference", { ...disbursementRequest, reference: "" }],
    ["a number as reference", { ...disbursementRequest, reference: 7 }],
    ["an amount that JSON cannot have", { ...disbursementRequest, amount: 5n }],
    ["nothing", undefined],
  ])("is not sent with %s", async (_, request) => {
    const { failure, sent } = scriptedClient([]);
    const error = await failure(({ disbursements }) => disbursements.create(request as typeof disbursementRequest));
    expect([error.name, sent]).toEqual(["UsageError", []]);
  });
});

test("an apiKey function that fails after an attempt that may have been recorded leaves the outcome unknown", async () => {
  let count = 0;
  const apiKey = () => {
    if (count++ > 0) throw new Error("vault is locked");
    return "key";
  };
  const { result, sent } = await create([connectionLost()], { apiKey, isReached: false });
  expect(result).toMatchObject(unknown("AuthenticationError"));
  expect(sent).toHaveLength(1);
});
