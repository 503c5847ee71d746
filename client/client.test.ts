import * as exported from "./index.ts";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  respond,
  disbursementCreated,
  duplicate,
  rejectionOf,
  key,
  connectionLost,
  connectionRefused,
  ok,
  disbursementRequest,
  record,
  refusal,
  scriptedClient,
  noResponse,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";
import { AbortedError, AuthenticationError, ClientError, createClient, UsageError } from "./index.ts";
import type { ClientOptions, CreateDisbursementCall as Call } from "./index.ts";

afterEach(() => void vi.unstubAllGlobals());

describe("options", () => {
  const refused: [string, object, RegExp][] = [
    ["a missing baseUrl", { baseUrl: undefined }, /^baseUrl is missing\. It must be the service's URL/],
    ["a baseUrl without a scheme", { baseUrl: "pay.example" }, /baseUrl must be/],
    ["a scheme that only ends in http", { baseUrl: "xhttp://pay.example/a" }, /baseUrl must be/],
    ["a scheme other than http(s)", { baseUrl: "ftp://pay.example" }, /baseUrl must be/],
    ["a user in baseUrl", { baseUrl: "https://me@pay.example" }, /baseUrl must be/],
    ["a password in baseUrl", { baseUrl: "https://:secret@pay.example" }, /baseUrl must be/],
    ["a query in baseUrl", { baseUrl: "https://pay.example/?a=b" }, /baseUrl must be/],
    ["a fragment in baseUrl", { baseUrl: "https://pay.example/#a" }, /baseUrl must be/],
    ["a missing apiKey", { apiKey: undefined }, /^apiKey is missing\. It must be ASCII/],
    ["an empty key", { apiKey: "" }, /^apiKey is missing/],
    ["a key with a line break", { apiKey: "abc\n" }, /apiKey must be/],
    ["a key with a space", { apiKey: "a bc" }, /apiKey must be/],
    ["/v1 in baseUrl", { baseUrl: "https://pay.example/v1" }, /^baseUrl must be .* without \/v1,/],
    [
      "/v1 and slashes in baseUrl",
      { baseUrl: new URL("https://pay.example/a/v1//") },
      /^baseUrl must be .* without \/v1,/,
    ],
    ["a key with non-ASCII characters", { apiKey: "clé" }, /apiKey must be/],
    ["a key that is a number", { apiKey: 7 }, /apiKey must be/],
    ["an unknown option", { baseURL: "https://pay.example" }, /No option "baseURL"\. Use: .*baseUrl/],
    ["a fetch that is not a function", { fetch: "fetch" }, /fetch must be of type function/],
    ["hooks that are not an object", { hooks: "log" }, /hooks must be of type object/],
    [
      "an unknown hook",
      { hooks: { onrequest() {} } },
      /^No option "onrequest"\. Use: onRequest, onResponse, onRetry\.$/,
    ],
    ["a hook that is not a function", { hooks: { onRetry: "log" } }, /onRetry must be of type function/],
    ["a timeout of 0", { timeout: 0 }, /timeout must be from 1 to 1000000000/],
    ["a timeout below 1", { timeout: 0.5 }, /timeout must be from 1/],
    ["a timeout that is a string", { timeout: "5" }, /timeout must be of type number/],
    ["a timeout beyond the maximum", { timeout: 1e9 + 1 }, /timeout must be from 1/],
    ["a timeout that is NaN", { timeout: NaN }, /timeout must be from 1/],
    ["retry as a number", { retry: 3 }, /retry must be of type object/],
    ["zero attempts", { retry: { tries: 0 } }, /tries must be from 1/],
    ["a negative delay", { retry: { minDelay: -1 } }, /minDelay must be from 1/],
    ["an unknown retry option", { retry: { maxTries: 3 } }, /No option "maxTries"\. Use: tries/],
    ["an unknown logLevel", { logLevel: "loud" }, /^logLevel must be off, warn or debug\.$/],
    ["a logLevel that only starts with a known one", { logLevel: "offline" }, /logLevel must be/],
    ["a logLevel that only ends with a known one", { logLevel: "forewarn" }, /logLevel must be/],
    ["a signal that is not one", { signal: {} }, /signal an AbortSignal\.$/],
    ["headers as a string", { headers: "a: b" }, /headers must be/],
    ["a header name with a space", { headers: { "a b": "c" } }, /headers must be/],
    ["a header value with a line break", { headers: { a: "secret\nb" } }, /headers must be/],
  ];
  test.each(refused)("throw a UsageError for %s", (_, change, message) => {
    const make = () => createClient({ baseUrl: "https://pay.example", apiKey: key, ...change } as ClientOptions);
    expect(make).toThrow(UsageError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secret/);
  });

  test("are required", () => {
    expect(() => createClient(undefined as never)).toThrow(UsageError);
  });

  test.each([
    ["https://pay.example", "https://pay.example"],
    ["https://pay.example///", "https://pay.example"],
    ["https://pay.example/a/b/", "https://pay.example/a/b"],
    ["https://pay.example/v1/a", "https://pay.example/v1/a"],
    ["https://pay.example/av1", "https://pay.example/av1"],
    ["https://pay.example/~a@b", "https://pay.example/~a@b"],
    [new URL("http://127.0.0.1:3000"), "http://127.0.0.1:3000"],
  ])("accept the baseUrl %s", async (baseUrl, expected) => {
    const { client, time, sent } = scriptedClient([ok(record)], { baseUrl });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.url).toBe(`${expected}/v1/disbursements/DSB1`);
  });

  test("accept the smallest and the largest values", () => {
    const options = {
      baseUrl: "https://pay.example",
      apiKey: key,
      timeout: 1e9,
      retry: { minDelay: 1, tries: 1 },
    };
    expect(() => createClient(options)).not.toThrow();
  });

  test("that are undefined take their defaults", async () => {
    const { client, time } = scriptedClient([ok(record)], {
      timeout: undefined,
      retry: undefined,
      headers: undefined,
    } as object);
    expect(await time.run(client.disbursements.verify("DSB1", { timeout: undefined } as object))).toEqual(record);
  });

  test("of a call override those of the client, for that call only", async () => {
    const { client, time, sent } = scriptedClient([refusal(500), ok(record), refusal(500)], {
      headers: { a: "1", b: "1" },
      retry: { tries: 1 },
    });
    await time.run(client.disbursements.verify("DSB1", { headers: { b: "2", "X-Api-Key": "x" }, retry: { tries: 2 } }));
    expect([sent[0]!.headers.get("a"), sent[0]!.headers.get("b"), sent[0]!.headers.get("x-api-key")]).toEqual([
      "1",
      "2",
      key,
    ]);
    await time.run(rejectionOf(client.disbursements.verify("DSB1")));
    expect([sent.length, sent[2]!.headers.get("b")]).toEqual([3, "1"]);
  });

  test("accept a signal that aborts every call", async () => {
    const { client, time, sent } = scriptedClient([], { signal: AbortSignal.abort() });
    const calls = [
      () => client.disbursements.create(disbursementRequest),
      () => client.checkouts.verify("x"),
      () => client.checkouts.waitFor("x"),
    ];
    for (const call of calls) expect(await time.run(rejectionOf(call()))).toBeInstanceOf(AbortedError);
    expect(sent).toEqual([]);
  });

  test.each([
    ["a plain object", { "X-Trace": "1" }],
    ["Headers", new Headers({ "x-trace": "1" })],
    ["pairs", [["x-trace", "1"]]],
  ])("accept headers as %s", async (_, headers) => {
    const { client, time, sent } = scriptedClient([ok(record)], { headers: headers as HeadersInit });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.headers.get("x-trace")).toBe("1");
  });

  test("with an invalid signal send no request", async () => {
    const { client, time, sent } = scriptedClient([]);
    const signal = new AbortController() as unknown as AbortSignal;
    const calls = [
      () => client.disbursements.create(disbursementRequest, { signal }),
      () => client.disbursements.waitFor("DSB1", { signal }),
    ];
    for (const call of calls) expect(await time.run(rejectionOf(call()))).toBeInstanceOf(UsageError);
    expect([sent, time.waiting]).toEqual([[], 0]);
  });

  test("of a call may be null", async () => {
    const { client, time } = scriptedClient([ok(record)]);
    expect(await time.run(client.disbursements.verify("DSB1", null as never))).toEqual(record);
  });

  test("call a custom fetch without a receiver, as browsers require", async () => {
    const { client, time } = scriptedClient([ok(record)], {
      fetch: async function (this: unknown) {
        expect(this).toBeUndefined();
        return ok(record);
      },
    });
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(record);
  });

  test("of a call are validated too", async () => {
    const { client, time } = scriptedClient([]);
    const call = client.disbursements.create(disbursementRequest, { timeout: -1 });
    expect(await time.run(rejectionOf(call))).toBeInstanceOf(UsageError);
    expect(await call.result()).toMatchObject({ outcome: "refused", error: { name: "UsageError" } });
  });
});

describe("the API key", () => {
  test("may come from a function that is called before every attempt", async () => {
    let count = 0;
    const { client, time, sent } = scriptedClient([refusal(500), ok(record)], { apiKey: async () => `key-${++count}` });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent.map(({ headers }) => headers.get("x-api-key"))).toEqual(["key-1", "key-2"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("vault is locked");
      },
    ],
    ["rejects", () => Promise.reject(new Error("vault is locked"))],
    ["returns undefined", () => undefined as never],
    ["returns two lines", () => `${key}\n${key}`],
  ])("is not sent if its function %s, which is not called again", async (how, returnKey) => {
    const apiKey = vi.fn<() => string | Promise<string>>(returnKey);
    const { client, time, sent } = scriptedClient([], { apiKey });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    const hasFailed = /throws|rejects/.test(how);
    expect(error).toBeInstanceOf(hasFailed ? AuthenticationError : UsageError);
    expect((error as Error).message).toMatch(
      hasFailed ? /^The apiKey function failed\.$/ : /^apiKey (is missing|must be)/,
    );
    expect(String((error as Error).cause)).toBe(hasFailed ? "Error: vault is locked" : "undefined");
    expect(JSON.stringify([error, `${error}`, (error as Error).stack])).not.toContain(key);
    expect(apiKey).toHaveBeenCalledOnce();
    expect(sent).toEqual([]);
  });

  const echoes: [string, Step][] = [
    ["a refusal that echoes it", respond(401, { statusCode: 401, error: `Bad key ${key}`, message: `${key} ${key}` })],
    ["a 500 that echoes it", respond(500, { statusCode: 500, error: key })],
    ["a page that echoes it", respond(200, `<html>x-api-key: ${key}`)],
    ["a proxy page that echoes it", respond(404, `<html>x-api-key: ${key}`)],
    ["a lost connection", connectionLost()],
    ["no response", noResponse],
    ["a duplicate", duplicate()],
  ];
  test.each(echoes)("appears in no error and no hook after %s", async (_, step) => {
    const seen: unknown[] = [];
    const hooks = { onRequest: seen.push.bind(seen), onResponse: seen.push.bind(seen), onRetry: seen.push.bind(seen) };
    const { client, time } = scriptedClient([step, step], { hooks: hooks as object, retry: { tries: 1 } });
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    const shown = inspect([error, (error as Error).cause, seen], { depth: 9, showHidden: true });
    expect(shown).toContain("ClientError".slice(6));
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(disbursementRequest.phoneNumber);
  });

  test("causes a warning when used in a web page", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    createClient({ baseUrl: "https://pay.example", apiKey: key });
    expect(warn).not.toHaveBeenCalled();
    vi.stubGlobal("document", {});
    createClient({ baseUrl: "https://pay.example", apiKey: key });
    expect(warn).toHaveBeenCalledOnce();
    expect(warn.mock.calls[0]![0]).toMatch(/API key/);
    warn.mockRestore();
  });
});

describe("errors", () => {
  test.each(Object.entries(exported).filter(([name]) => /.Error$/.test(name) && name !== "ClientError"))(
    "have their class name as name: %s",
    (name, Kind) => {
      const error = new (Kind as unknown as typeof UsageError)("Something.", { cause: "x", status: 400 });
      expect([error.name, `${error}`]).toEqual([name, `${name}: Something.`]);
      expect([error.cause, error.status, error instanceof ClientError]).toEqual(["x", 400, true]);
      expect(Object.keys(error)).not.toContain("cause");
    },
  );

  const said: [string, Step, RegExp, unknown][] = [
    ["no response", noResponse, /^No response within 15000 ms\.$/, undefined],
    [
      "a lost connection",
      connectionLost(),
      /^Connection to https:\/\/pay\.example:8443\/path failed: fetch failed, reset, ECONNRESET\.$/,
      undefined,
    ],
    [
      "a bare 401",
      respond(401),
      /^Received 401 without the service's JSON\. Check baseUrl \(https:\/\/pay\.example:8443\/path\), gateways and firewalls\.$/,
      undefined,
    ],
    [
      "an error without a code",
      new TypeError("broken pipe"),
      /^Connection to https:\/\/pay\.example:8443\/path failed: broken pipe\.$/,
      undefined,
    ],
    [
      "a rejection without a reason",
      () => Promise.reject<never>(),
      /^Connection to https:\/\/pay\.example:8443\/path failed: /,
      undefined,
    ],
  ];
  test.each(said)("describe what happened after %s", async (_, step, message, cause) => {
    const { client, time } = scriptedClient([step], { baseUrl: "https://pay.example:8443/path", retry: { tries: 1 } });
    const error = (await time.run(rejectionOf(client.disbursements.verify("x")))) as Error;
    expect(error.message).toMatch(message);
    expect(error.cause).toEqual(cause);
  });

  test("redact the key if the service echoes it", async () => {
    const { client, time } = scriptedClient([respond(401, { statusCode: 401, error: `No key ${key}!` })]);
    const error = await time.run(rejectionOf(client.disbursements.verify("x")));
    expect(error).toMatchObject({ serverMessage: "No key [key]!", message: "Received 401. No key [key]!" });
  });

  test("carry status, request id and the service's message", async () => {
    const { client, time } = scriptedClient([refusal(422)]);
    const error = (await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))) as ClientError;
    expect(error).toBeInstanceOf(ClientError);
    const { attempts, callId, ...facts } = error;
    expect(facts).toEqual({
      name: "ValidationError",
      status: 422,
      requestId: "req_1",
      serverMessage: "Refused: For a reason.",
      code: "refused",
      operation: "createDisbursement",
      reference: "payroll-1",
    });
    expect(error.message).toBe("Received 422. Refused: For a reason.");
    expect(attempts).toEqual([
      {
        operation: "createDisbursement",
        reference: "payroll-1",
        callId,
        attempt: 1,
        duration: 0,
        status: 422,
        requestId: "req_1",
        error: { name: "ValidationError", code: "refused", message: error.message },
      },
    ]);
  });

  test("use error alone if the service sends no message (§7)", async () => {
    const { client, time } = scriptedClient([respond(404, { statusCode: 404, error: "Not Found" })]);
    expect(await time.run(rejectionOf(client.disbursements.verify("x")))).toMatchObject({ serverMessage: "Not Found" });
  });
});

describe("result()", () => {
  const statuses = [400, 401, 403, 404, 413, 415, 422, 429];
  const creates: [string, Step[], string][] = [
    ["success", [ok(disbursementCreated)], "created"],
    ...statuses.map((status) => [`${status}`, [refusal(status)], "refused"] as [string, Step[], string]),
    ["409 for this payment", [duplicate("/v1/disbursements/DSB1"), ok(record)], "existed"],
    ["409 for another payment", [duplicate("/v1/disbursements/DSB1"), ok({ ...record, amount: 1 })], "refused"],
    ["409 for a record that cannot be read", [duplicate()], "unknown"],
    ["500", [refusal(500)], "unknown"],
    ["503", [refusal(503)], "unknown"],
    ["no connection", [connectionRefused()], "refused"],
  ];
  test.each(creates)("of a create reports %s", async (_, steps, outcome) => {
    const { client, time } = scriptedClient(steps, { retry: { tries: 1 } });
    const result = await time.run(client.disbursements.create(disbursementRequest).result());
    expect(result.outcome).toBe(outcome);
    expect(result.status).toBe(result.data?.status);
    if (result.data) expect(result.data.recovered).toBe(outcome === "existed");
    else expect(result.error).toBeInstanceOf(ClientError);
  });

  const reads: [string, Step, string][] = [
    ["success", ok(record), "found"],
    ["404", refusal(404), "missing"],
    ...[401, 429, 500, 502].map((status) => [`${status}`, refusal(status), "unknown"] as [string, Step, string]),
    ["409", duplicate(), "unknown"],
    ["404 with a page", respond(404, "<html>"), "unknown"],
    ["500 with a page", respond(500, "<html>"), "unknown"],
    ["a redirect", respond(302), "unknown"],
    ["a broken connection", connectionLost(), "unknown"],
    ["no response", noResponse, "unknown"],
  ];
  test.each(reads)("of a verify reports %s", async (_, step, outcome) => {
    const { client, time } = scriptedClient([step], { retry: { tries: 1 } });
    const result = await time.run(client.checkouts.verify("DSB1").result());
    expect(result).toMatchObject({ outcome, ...(outcome === "found" && { status: "pending", data: record }) });
  });

  test("throws an error that is not the client's", async () => {
    const { client, time } = scriptedClient([]);
    const bug = new Error("a bug of the caller");
    const request = {
      ...disbursementRequest,
      get amount(): number {
        throw bug;
      },
    };
    expect(await time.run(rejectionOf(client.disbursements.create(request).result()))).toBe(bug);
  });

  test.each([
    ["awaits its result", (call: Call) => call.result(), 0],
    ["awaits its response", (call: Call) => call.withResponse().catch(() => {}), 0],
    ["awaits it", (call: Call) => call.catch(() => {}), 0],
    ["forgets it", async () => {}, 1],
  ] as const)("of a failed call: who %s has an unhandled rejection %#", async (_, use, expected) => {
    const { client, time } = scriptedClient([refusal(422)]);
    const unhandled = vi.fn<(error: unknown) => void>();
    const others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", unhandled);
    await time.run(Promise.resolve(use(client.disbursements.create(disbursementRequest))));
    for (let turn = 0; turn < 9; turn++) await new Promise(setImmediate);
    process.removeAllListeners("unhandledRejection");
    for (const listener of others) process.on("unhandledRejection", listener);
    expect(unhandled.mock.calls.map(([error]) => error)).toMatchObject(
      Array.from({ length: expected }, () => ({ name: "ValidationError" })),
    );
  });
});
