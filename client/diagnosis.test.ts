// What a program learns of its calls: errors, results, hooks, logs and trace ids. None of it shows a secret.
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as exported from "./index.ts";
import { ClientError, UsageError } from "./index.ts";
import type { DisbursementClient, ResponseInfo } from "./index.ts";
import packageJson from "./package.json" with { type: "json" };
import {
  connectionLost,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  here,
  key,
  list,
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

type Call = ReturnType<DisbursementClient["disbursements"]["create"]>;
const traceparents = (sent: { headers: Headers }[]) => sent.map(({ headers }) => headers.get("traceparent"));
const create = ({ disbursements }: DisbursementClient) => disbursements.create(disbursementRequest);

/** The error of a call with one attempt. */
const failure = (steps: Step[], call: (client: DisbursementClient) => Promise<unknown>, options = {}) =>
  scriptedClient(steps, { retry: { tries: 1 }, ...options }).failure(call);

describe("requests", () => {
  test("name the client and its version, unless the caller's headers say otherwise", async () => {
    const named = scriptedClient([ok(record)]);
    await named.read();
    expect(named.sent[0]!.headers.get("user-agent")).toBe(`disbursement-checkout-client/${packageJson.version}`);
    const headers = { "User-Agent": "mine/1", traceparent: "00-a-b-00" };
    const { read, sent } = scriptedClient([ok(record)], { headers });
    await read();
    expect([sent[0]!.headers.get("user-agent"), ...traceparents(sent)]).toEqual(["mine/1", "00-a-b-00"]);
  });

  test("of a call share a trace id, and each attempt has its own parent id", async () => {
    const script = scriptedClient([connectionLost(), duplicate(here), ok(record), ok(record)]);
    await script.create();
    await script.read();
    const zeros = "0".repeat(15);
    const ofCall = (call: number, id: number) => `00-0${zeros}${zeros}${call}-${zeros}${id}-01`;
    expect(traceparents(script.sent)).toEqual([ofCall(1, 2), ofCall(1, 3), ofCall(1, 4), ofCall(5, 6)]);
  });
});

describe("an error", () => {
  test.each(Object.entries(exported).filter(([name]) => /.Error$/.test(name) && name !== "ClientError"))(
    "has its class name as name: %s",
    (name, Kind) => {
      const error = new (Kind as unknown as typeof UsageError)("Something.", { cause: "x", status: 400 });
      expect([error.name, `${error}`]).toEqual([name, `${name}: Something.`]);
      expect([error.cause, error.status, error instanceof ClientError]).toEqual(["x", 400, true]);
      expect(Object.keys(error)).not.toContain("cause");
    },
  );

  const at = "https://pay.example:8443/path";
  test.each<[string, Step, string]>([
    ["no response", noResponse, "No response within 15000 ms."],
    ["a lost connection", connectionLost(), `Connection to ${at} failed: fetch failed, reset, ECONNRESET.`],
    [
      "a bare 401",
      respond(401),
      `Received 401 without the service's JSON. Check baseUrl (${at}), gateways and firewalls.`,
    ],
    ["an error without a code", new TypeError("broken pipe"), `Connection to ${at} failed: broken pipe.`],
    ["a refusal without a message (§7)", respond(404, { statusCode: 404, error: "Gone" }), "Received 404. Gone"],
  ])("describes what happened: %s", async (_, step, message) => {
    const error = await failure([step], ({ disbursements }) => disbursements.verify("x"), { baseUrl: at });
    expect([error.message, error.cause]).toEqual([message, undefined]);
  });

  test("carries status, request id, the service's message and the attempt", async () => {
    const { attempts, callId, message, ...facts } = await failure([refusal(422)], create);
    const about = { operation: "createDisbursement", reference: "payroll-1" };
    const received = { status: 422, requestId: "req_1" };
    const name = "ValidationError";
    expect(message).toBe("Received 422. Refused: For a reason.");
    expect(facts).toEqual({ name, ...about, ...received, serverMessage: "Refused: For a reason.", code: "refused" });
    const error = { name, code: "refused", message: "Received 422. Refused: For a reason." };
    expect(attempts).toEqual([{ ...about, ...received, callId, attempt: 1, duration: 0, error }]);
  });

  const fields = [{ path: "amount", code: "minimum", message: "must be at least 1" }];
  const invalid = { statusCode: 422, error: "Invalid", code: "invalid_value", fields };
  test("has the service's code, fields and delay, and none of a gateway", async () => {
    const verify = ({ checkouts }: DisbursementClient) => checkouts.verify("CHK9");
    const error = await failure([respond(422, invalid, { "retry-after": "2" })], verify);
    expect(error).toMatchObject({ code: "invalid_value", fields, retryAfter: 2000, reference: "CHK9" });
    const foreign = await failure([respond(422, { ...invalid, statusCode: 400 })], verify);
    expect([foreign.code, foreign.fields, foreign.serverMessage]).toEqual([undefined, undefined, "Invalid"]);
    const bare = await failure([new Response("", { status: 422 })], verify);
    expect([bare.status, bare.requestId]).toEqual([422, undefined]);
  });

  test("has the history of the call, in order, with the look for the record", async () => {
    const script = await reachedClient([connectionLost(), refusal(503), refusal(404)], { retry: { tries: 2 } });
    const error = await script.failure(create);
    expect(error.attempts).toMatchObject([
      { operation: "createDisbursement", attempt: 1, status: undefined, error: { name: "ConnectionError" } },
      { operation: "createDisbursement", attempt: 2, status: 503, requestId: "req_1", error: { name: "ServerError" } },
      { operation: "listDisbursements", reference: "payroll-1", attempt: 1, status: 404 },
    ]);
    expect(error).toMatchObject({ name: "OutcomeUnknownError", reference: "payroll-1", status: 503 });
    expect(new Set(error.attempts!.map(({ callId }) => callId))).toEqual(new Set([error.callId]));
  });
});

describe("a call", () => {
  test.each([
    ["created", [ok(disbursementCreated)], "POST"],
    ["read at Location", [connectionLost(), duplicate(here), ok(record)], "GET"],
    ["found in the list", [connectionLost(), duplicate(), list(record)], "GET"],
  ])("returns the response with the record: %s", async (_, steps, method) => {
    const { client, time, sent } = await reachedClient(steps);
    const { data, response } = await time.run(create(client).withResponse());
    expect([data.reference, response.status, response.headers.get("x-request-id")]).toEqual(["DSB1", 200, "req_1"]);
    expect(sent.at(-1)!.method).toBe(method);
  });

  test("that failed throws the same from withResponse, and may be asked for its result later", async () => {
    const { client, time } = scriptedClient([refusal(422)]);
    const call = create(client);
    expect(await time.run(rejectionOf(call.withResponse()))).toBe(await rejectionOf(call));
    await new Promise(setImmediate);
    expect(await call.result()).toMatchObject({ outcome: "refused", error: { status: 422 } });
  });

  test.each([
    ["awaits its result", (call: Call) => call.result(), 0],
    ["awaits its response", (call: Call) => call.withResponse().catch(() => {}), 0],
    ["awaits it", (call: Call) => call.catch(() => {}), 0],
    ["forgets it", async () => {}, 1],
  ] as const)("that failed: who %s has an unhandled rejection %#", async (_, use, expected) => {
    const { client, time } = scriptedClient([refusal(422)]);
    const unhandled = vi.fn<(error: unknown) => void>();
    const others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", unhandled);
    await time.run(Promise.resolve(use(create(client))));
    for (let turn = 0; turn < 9; turn++) await new Promise(setImmediate);
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", listener);
    expect(unhandled.mock.calls.map(([error]) => error)).toMatchObject(
      Array.from({ length: expected }, () => ({ name: "ValidationError" })),
    );
  });
});

describe("hooks", () => {
  test("receive every request, response and retry", async () => {
    const received: unknown[] = [];
    const collect = (name: string) => (info: object) => void received.push({ name, ...info });
    const hooks = { onRequest: collect("request"), onResponse: collect("response"), onRetry: collect("retry") };
    await scriptedClient([refusal(503), ok(disbursementCreated)], { hooks }).create();
    const callId = expect.stringMatching(/^\d{32}$/);
    const about = { operation: "createDisbursement", reference: "payroll-1", callId };
    const error = { name: "ServerError", code: "refused", message: "Received 503. Refused: For a reason." };
    const success = { duration: 0, status: 200, requestId: "req_1", error: undefined };
    expect(received).toEqual([
      { name: "request", ...about, attempt: 1 },
      { name: "response", ...about, attempt: 1, ...success, status: 503, error },
      { name: "retry", ...about, attempt: 1, ...success, status: 503, error, delay: 250 },
      { name: "request", ...about, attempt: 2 },
      { name: "response", ...about, attempt: 2, ...success },
    ]);
  });

  test("that throw or reject do not affect the call", async () => {
    const onRequest = () => {
      throw new Error("the log is full");
    };
    const hooks = { onRequest, onResponse: () => Promise.reject(new Error("the log is gone")) };
    expect(await scriptedClient([ok(disbursementCreated)], { hooks }).create()).toMatchObject({ outcome: "created" });
  });

  test("may be methods of a class, with its other fields", async () => {
    class Log {
      lines: string[] = [];
      readonly prefix = "pay:";
      onResponse({ operation, status }: ResponseInfo) {
        this.lines.push(`${this.prefix} ${operation} ${status}`);
      }
    }
    const hooks = new Log();
    await scriptedClient([ok(disbursementCreated)], { hooks }).create();
    expect(hooks.lines).toEqual(["pay: createDisbursement 200"]);
  });
});

describe("nothing that a program prints contains", () => {
  /** Everything that a program could print about a call: the error, its causes and what the hooks received. */
  async function printed(steps: Step[], request: object = {}) {
    const received: unknown[] = [];
    const collect = (info: object) => void received.push(info);
    const hooks = { onRequest: collect, onResponse: collect, onRetry: collect };
    const pay = ({ disbursements }: DisbursementClient) => disbursements.create({ ...disbursementRequest, ...request });
    const error = await failure(steps, pay, { hooks });
    const causes = [error, error.cause, (error.cause as Error | undefined)?.cause];
    const texts = causes.flatMap((cause) => [
      inspect(cause, { depth: 9 }),
      JSON.stringify(cause),
      (cause as Error | undefined)?.stack,
    ]);
    return { error, shown: [...texts, inspect(received, { depth: 9, showHidden: true })].join("\n") };
  }

  const { phoneNumber } = disbursementRequest;
  const fields = [{ path: "phoneNumber", code: "pattern", message: `${phoneNumber} is no number` }];
  const answer = { statusCode: 422, error: `Bad ${phoneNumber}`, message: `+${phoneNumber} ${key}`, code: "x", fields };
  const property = (name: string, value: unknown) => Object.assign(new TypeError("failed"), { [name]: value });
  const escaped = (secret: string) =>
    JSON.stringify(answer).replaceAll(secret[0]!, `\\u00${secret.charCodeAt(0).toString(16)}`);
  const places: [string, (secret: string) => Step][] = [
    ["x-request-id", (secret) => respond(400, { statusCode: 400, error: "Bad" }, { "x-request-id": `id-${secret}` })],
    ["x-request-id of a page", (secret) => respond(503, "<html>", { "x-request-id": secret })],
    ["a page", (secret) => respond(200, `<html>x-api-key: ${secret}`)],
    ["an error that is thrown", (secret) => new TypeError(`Invalid header value ${secret}`)],
    ["the cause of an error", (secret) => new TypeError("failed", { cause: new Error(`sent ${secret}`) })],
    ["a property of an error", (secret) => property("request", { headers: { "x-api-key": secret } })],
    ["the code of an error", (secret) => property("code", secret)],
    ["a text that is thrown", (secret) => () => Promise.reject(secret)],
    ["a refusal", () => respond(422, answer)],
    ["an escaped refusal", (secret) => respond(422, escaped(secret))],
    ["nothing", () => noResponse],
  ];
  test.each(places)("the key or the phone number, even if %s has it", async (_, step) => {
    for (const secret of [key, phoneNumber]) {
      const { shown } = await printed([step(secret)]);
      expect(shown).toMatch(/Error/);
      expect(shown).not.toContain(secret);
    }
  });

  test("the phone number of the record that uses the reference", async () => {
    const other = { ...record, customer: { ...record.customer, phoneNumber: "2250000000111", name: "Somebody" } };
    const { error, shown } = await printed([duplicate(here), ok(other)]);
    expect(error).toMatchObject({ name: "DuplicateReferenceError", matches: false, existing: other });
    expect(shown).not.toMatch(/2250000000111|Somebody/);
  });

  test("more than the last digits of a phone number, and a shorter text is no phone number", async () => {
    const { error } = await printed([respond(422, answer)]);
    expect(error.serverMessage).toBe("Bad …473: +…473 [key]");
    expect(error.fields).toEqual([{ ...fields[0], message: "…473 is no number" }]);
    for (const [number, message, expected] of [
      ["12345", "digits, 12345 has 5", "digits, 12345 has 5"],
      [123456, "no 123456", "no …456"],
      [undefined, "undefined", "undefined"],
    ]) {
      const refused = respond(422, { statusCode: 422, error: "Bad", message });
      expect((await printed([refused], { phoneNumber: number })).error.serverMessage).toBe(`Bad: ${expected}`);
    }
  });
});

describe("the log", () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });

  const failed = ["onResponse", "onRetry"];
  const all = ["onRequest", ...failed, "onRequest", "onResponse"];
  test.each([
    [{}, "", []],
    [{ logLevel: "off" }, "debug", []],
    [{ logLevel: "warn" }, "", failed],
    [{ logLevel: "debug" }, "", all],
    [{}, "warn", failed],
    [{}, "debug", all],
  ] as const)("with %j and DISBURSEMENT_CHECKOUT_LOG=%j has the lines %j", async (options, variable, lines) => {
    vi.stubEnv("DISBURSEMENT_CHECKOUT_LOG", variable);
    const log = vi.spyOn(console, "log").mockReturnValue(undefined);
    await scriptedClient([refusal(500), ok(record)], options).read();
    const info = expect.objectContaining({ operation: "verifyDisbursement", callId: expect.any(String) });
    expect(log.mock.calls).toEqual(lines.map((line) => [`disbursement-checkout ${line}`, info]));
  });

  test("is off where the environment may not be read, and refuses a level that does not exist", () => {
    const read = vi.fn<() => void>(() => {
      throw new Error("Requires env access");
    });
    vi.stubGlobal("process", Object.defineProperty({}, "env", { get: read }));
    expect(scriptedClient([]).client).toBeDefined();
    vi.unstubAllGlobals();
    expect(read).toHaveBeenCalledOnce();
    vi.stubEnv("DISBURSEMENT_CHECKOUT_LOG", "everything");
    expect(() => scriptedClient([])).toThrow(/^logLevel must be off, warn or debug\.$/);
  });
});
