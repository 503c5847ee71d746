import * as errors from "./errors.ts";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  answer,
  created,
  duplicate,
  failure,
  key,
  lost,
  ok,
  payout,
  record,
  refuse,
  scripted,
  silence,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";
import { AbortedError, ClientError, createClient, UsageError } from "./index.ts";
import type { ClientOptions } from "./index.ts";

afterEach(() => void vi.unstubAllGlobals());

describe("options", () => {
  const refused: [string, object, RegExp][] = [
    ["no address", { baseUrl: undefined }, /baseUrl must be/],
    ["an address that is none", { baseUrl: "pay.example" }, /baseUrl must be/],
    ["a scheme that ends like one", { baseUrl: "xhttp://pay.example/a" }, /baseUrl must be/],
    ["another scheme", { baseUrl: "ftp://pay.example" }, /baseUrl must be/],
    ["a user in the address", { baseUrl: "https://me@pay.example" }, /baseUrl must be/],
    ["a password in the address", { baseUrl: "https://:secret@pay.example" }, /baseUrl must be/],
    ["a query in the address", { baseUrl: "https://pay.example/?a=b" }, /baseUrl must be/],
    ["a fragment in the address", { baseUrl: "https://pay.example/#a" }, /baseUrl must be/],
    ["no key", { apiKey: undefined }, /apiKey must be/],
    ["an empty key", { apiKey: "" }, /apiKey must be/],
    ["a key with a line break", { apiKey: "abc\n" }, /apiKey must be/],
    ["a key with a space", { apiKey: "a bc" }, /apiKey must be/],
    ["the version in the address", { baseUrl: "https://pay.example/v1" }, /^baseUrl must be .* without \/v1,/],
    [
      "the version and slashes",
      { baseUrl: new URL("https://pay.example/a/v1//") },
      /^baseUrl must be .* without \/v1,/,
    ],
    ["a key beyond ASCII", { apiKey: "clé" }, /apiKey must be/],
    ["a key that is a number", { apiKey: 7 }, /apiKey must be/],
    ["a misspelt option", { baseURL: "https://pay.example" }, /No option "baseURL", only: .*baseUrl/],
    ["a fetch that is none", { fetch: "fetch" }, /fetch must be of type function/],
    ["hooks that are none", { hooks: "log" }, /hooks must be of type object/],
    [
      "a misspelt hook",
      { hooks: { onrequest() {} } },
      /^No option "onrequest", only: onRequest, onResponse, onRetry\.$/,
    ],
    ["a hook that is none", { hooks: { onRetry: "log" } }, /onRetry must be of type function/],
    ["a time of zero", { timeout: 0 }, /timeout must be from 1 to 1000000000/],
    ["a time that is text", { timeout: "5" }, /timeout must be of type number/],
    ["a time beyond what timers take", { timeout: 1e9 + 1 }, /timeout must be from 1/],
    ["no number", { timeout: NaN }, /timeout must be from 1/],
    ["retry as a number", { retry: 3 }, /retry must be of type object/],
    ["no try", { retry: { tries: 0 } }, /tries must be from 1/],
    ["a pause below zero", { retry: { minDelay: -1 } }, /minDelay must be from 1/],
    ["a misspelt retry option", { retry: { maxTries: 3 } }, /No option "maxTries", only: tries/],
    ["headers as text", { headers: "a: b" }, /headers must be/],
    ["a header name with a space", { headers: { "a b": "c" } }, /headers must be/],
    ["a header value with a line break", { headers: { a: "secret\nb" } }, /headers must be/],
  ];
  test.each(refused)("with %s are refused", (_, change, message) => {
    const make = () => createClient({ baseUrl: "https://pay.example", apiKey: key, ...change } as ClientOptions);
    expect(make).toThrow(UsageError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secret/);
  });

  test("are needed", () => {
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
  ])("take the address %s", async (baseUrl, expected) => {
    const { client, time, sent } = scripted([ok(record)], { baseUrl });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.url).toBe(`${expected}/v1/disbursements/DSB1`);
  });

  test("may be at either end of what is taken", () => {
    const options = {
      baseUrl: "https://pay.example",
      apiKey: key,
      timeout: 1e9,
      retry: { minDelay: 1, tries: 1 },
    };
    expect(() => createClient(options)).not.toThrow();
  });

  test("left undefined are as if left out", async () => {
    const { client, time } = scripted([ok(record)], {
      timeout: undefined,
      retry: undefined,
      headers: undefined,
    } as object);
    expect(await time.run(client.disbursements.verify("DSB1", { timeout: undefined } as object))).toEqual(record);
  });

  test("of one call go over those of the client, for that call", async () => {
    const { client, time, sent } = scripted([refuse(500), ok(record), refuse(500)], {
      headers: { a: "1", b: "1" },
      retry: { tries: 1 },
    });
    await time.run(client.disbursements.verify("DSB1", { headers: { b: "2", "X-Api-Key": "x" }, retry: { tries: 2 } }));
    expect([sent[0]!.headers.get("a"), sent[0]!.headers.get("b"), sent[0]!.headers.get("x-api-key")]).toEqual([
      "1",
      "2",
      key,
    ]);
    await time.run(failure(client.disbursements.verify("DSB1")));
    expect([sent.length, sent[2]!.headers.get("b")]).toEqual([3, "1"]);
  });

  test("may hold a signal that ends every call", async () => {
    const { client, time, sent } = scripted([], { signal: AbortSignal.abort() });
    const calls = [
      () => client.disbursements.create(payout),
      () => client.checkouts.verify("x"),
      () => client.checkouts.waitFor("x"),
    ];
    for (const call of calls) expect(await time.run(failure(call()))).toBeInstanceOf(AbortedError);
    expect(sent).toEqual([]);
  });

  test.each([
    ["an object", { "X-Trace": "1" }],
    ["Headers", new Headers({ "x-trace": "1" })],
    ["pairs", [["x-trace", "1"]]],
  ])("take headers as %s", async (_, headers) => {
    const { client, time, sent } = scripted([ok(record)], { headers: headers as HeadersInit });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent[0]!.headers.get("x-trace")).toBe("1");
  });

  test("with a signal that is none send nothing", async () => {
    const { client, time, sent } = scripted([]);
    const signal = new AbortController() as unknown as AbortSignal;
    expect(await time.run(failure(client.disbursements.create(payout, { signal })))).toBeInstanceOf(TypeError);
    expect([sent, time.waiting]).toEqual([[], 0]);
  });

  test("of one call may be null", async () => {
    const { client, time } = scripted([ok(record)]);
    expect(await time.run(client.disbursements.verify("DSB1", null as never))).toEqual(record);
  });

  test("may hold a fetch that must be called without an object, as browsers' own", async () => {
    const { client, time } = scripted([ok(record)], {
      fetch: async function (this: unknown) {
        expect(this).toBeUndefined();
        return ok(record);
      },
    });
    expect(await time.run(client.disbursements.verify("DSB1"))).toEqual(record);
  });

  test("of one call are checked as well", async () => {
    const { client, time } = scripted([]);
    const call = client.disbursements.create(payout, { timeout: -1 });
    expect(await time.run(failure(call))).toBeInstanceOf(UsageError);
    expect(await call.result()).toMatchObject({ ok: false, status: "no-answer" });
  });
});

describe("the key", () => {
  test("may come from a function, which is asked before every try", async () => {
    let count = 0;
    const { client, time, sent } = scripted([refuse(500), ok(record)], { apiKey: async () => `key-${++count}` });
    await time.run(client.disbursements.verify("DSB1"));
    expect(sent.map(({ headers }) => headers.get("x-api-key"))).toEqual(["key-1", "key-2"]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("vault is closed");
      },
    ],
    ["rejects", () => Promise.reject(new Error("vault is closed"))],
    ["gives nothing", () => undefined as never],
    ["gives two lines", () => `${key}\n${key}`],
  ])("is not sent when its function %s", async (how, apiKey) => {
    const { client, time, sent } = scripted([], { apiKey });
    const error = await time.run(failure(client.disbursements.create(payout)));
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toMatch(/^apiKey/);
    const cause = /throws|rejects/.test(how) ? "Error: vault is closed" : "undefined";
    expect(String((error as Error).cause)).toBe(cause);
    expect(JSON.stringify([error, `${error}`, (error as Error).stack])).not.toContain(key);
    expect(sent).toEqual([]);
  });

  const echoes: [string, Step][] = [
    ["a refusal that repeats it", answer(401, { statusCode: 401, error: `Bad key ${key}`, message: `${key} ${key}` })],
    ["a failure that repeats it", answer(500, { statusCode: 500, error: key })],
    ["a page that repeats it", answer(200, `<html>x-api-key: ${key}`)],
    ["a page of a proxy that repeats it", answer(404, `<html>x-api-key: ${key}`)],
    ["a lost connection", lost()],
    ["silence", silence],
    ["a duplicate", duplicate()],
  ];
  test.each(echoes)("is in no error and in no hook: %s", async (_, step) => {
    const seen: unknown[] = [];
    const hooks = { onRequest: seen.push.bind(seen), onResponse: seen.push.bind(seen), onRetry: seen.push.bind(seen) };
    const { client, time } = scripted([step, step], { hooks: hooks as object, retry: { tries: 1 } });
    const error = await time.run(failure(client.disbursements.create(payout)));
    const shown = inspect([error, (error as Error).cause, seen], { depth: 9, showHidden: true });
    expect(shown).toContain("ClientError".slice(6));
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(payout.phoneNumber);
  });

  test("in a page is worth a warning", () => {
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
  test.each(Object.entries(errors).filter(([name]) => name !== "ClientError"))(
    "have a code that lasts: %s",
    (name, Kind) => {
      const error = new (Kind as typeof UsageError)("Something.", { cause: "x", status: 400 });
      expect([error.code, error.name, `${error}`]).toEqual([name, name, `${name}: Something.`]);
      expect([error.cause, error.status, error instanceof ClientError]).toEqual(["x", 400, true]);
      expect(Object.keys(error)).not.toContain("cause");
    },
  );

  const said: [string, Step, RegExp, unknown][] = [
    ["silence", silence, /^No answer within 15000 ms\.$/, undefined],
    [
      "a lost connection",
      lost(),
      /^No connection to https:\/\/pay\.example:8443\/path, or it broke\.$/,
      expect.any(TypeError),
    ],
    ["a bare 401", answer(401), /^Answered 401\. Check baseUrl and proxies\.$/, undefined],
    ["an error that is none", () => Promise.reject<never>(), /^No connection to/, expect.any(TypeError)],
  ];
  test.each(said)("say what happened: %s", async (_, step, message, cause) => {
    const { client, time } = scripted([step], { baseUrl: "https://pay.example:8443/path", retry: { tries: 1 } });
    const error = (await time.run(failure(client.disbursements.verify("x")))) as Error;
    expect(error.message).toMatch(message);
    expect(error.cause).toEqual(cause);
  });

  test("hide the key where the service repeats it", async () => {
    const { client, time } = scripted([answer(401, { error: `No key ${key}!` })]);
    const error = await time.run(failure(client.disbursements.verify("x")));
    expect(error).toMatchObject({ serverMessage: "No key [key]!", message: "Answered 401. No key [key]!" });
  });

  test("of the caller's own making come through result() as they are", async () => {
    const { client, time } = scripted([]);
    const call = client.disbursements.verify("x", { signal: {} as AbortSignal });
    expect(await time.run(failure(call.result()))).toBeInstanceOf(TypeError);
  });

  test("carry status, request id and what the service said", async () => {
    const { client, time } = scripted([refuse(422)]);
    const error = (await time.run(failure(client.disbursements.create(payout)))) as ClientError;
    expect(error).toBeInstanceOf(ClientError);
    expect({ ...error }).toEqual({
      name: "ValidationError",
      status: 422,
      requestId: "req_1",
      serverMessage: "Refused: For a reason.",
    });
    expect([error.code, error.message]).toEqual(["ValidationError", "Answered 422. Refused: For a reason."]);
  });

  test("need no message of the service beyond error (§7)", async () => {
    const { client, time } = scripted([answer(404, { statusCode: 404, error: "Not Found" })]);
    expect(await time.run(failure(client.disbursements.verify("x")))).toMatchObject({ serverMessage: "Not Found" });
  });

  test("say where to look when a page comes", async () => {
    const { client, time } = scripted([answer(404, "<html>")], { retry: { tries: 1 } });
    const error = await time.run(failure(client.disbursements.verify("x")));
    expect((error as Error).message).toBe("Answered 404. Check baseUrl and proxies.");
  });
});

describe("result()", () => {
  const creates: [string, Step[], unknown][] = [
    ["success", [ok(created)], 200],
    ...[400, 401, 413, 415, 422].map((status) => [`${status}`, [refuse(status)], status] as [string, Step[], unknown]),
    ["409", [duplicate()], 409],
    ["429", [refuse(429)], 429],
    ["500", [refuse(500)], "unknown"],
    ["503", [refuse(503)], "unknown"],
    ["403", [refuse(403)], "other"],
    ["404", [refuse(404)], "other"],
    ["no connection", [new TypeError("x", { cause: { code: "ECONNREFUSED" } })], "no-answer"],
  ];
  test.each(creates)("of a create tells %s apart", async (_, steps, status) => {
    const { client, time } = scripted(steps, { retry: { tries: 1 } });
    const result = await time.run(client.disbursements.create(payout).result());
    expect(result.status).toBe(status);
    expect(result.ok).toBe(status === 200);
    expect("data" in result ? result.data : result.error).toBeInstanceOf(status === 200 ? Object : ClientError);
  });

  const reads: [string, Step, unknown][] = [
    ["success", ok(record), 200],
    ...[401, 404, 429, 500].map((status) => [`${status}`, refuse(status), status] as [string, Step, unknown]),
    ["502", refuse(502), "other"],
    ["409", duplicate(), "other"],
    ["a page for 404", answer(404, "<html>"), "other"],
    ["a page for 500", answer(500, "<html>"), 500],
    ["a redirect", answer(302), "other"],
    ["a broken connection", lost(), "no-answer"],
    ["silence", silence, "no-answer"],
  ];
  test.each(reads)("of a verify tells %s apart", async (_, step, status) => {
    const { client, time } = scripted([step], { retry: { tries: 1 } });
    expect(await time.run(client.checkouts.verify("DSB1").result())).toMatchObject({ ok: status === 200, status });
  });

  test("leaves no rejection behind that nobody handles", async () => {
    const { client, time } = scripted([refuse(422)]);
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    await time.run(client.disbursements.create(payout).result());
    await new Promise(setImmediate);
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
