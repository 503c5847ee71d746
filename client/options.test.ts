import { describe, expect, test, vi } from "vitest";
import { createClient, UsageError } from "./index.ts";
import type { ClientOptions } from "./index.ts";
import { disbursementRequest, key, ok, record, refusal, scriptedClient } from "./testing/fakes.ts";

const url = (baseUrl: unknown) => ({ baseUrl });

describe("options", () => {
  const invalidUrls = [
    "pay.example",
    "xhttp://pay.example/a",
    "ftp://pay.example",
    "https://me@pay.example",
    "https://:secret@pay.example",
    "https://pay.example/?a=b",
    "https://pay.example/#a",
    "https://pay.example/v1",
    new URL("https://pay.example/a/v1//"),
  ];
  const refused: [string, object, RegExp][] = [
    ["a missing baseUrl", url(undefined), /^baseUrl is missing\. It must be the service's URL/],
    ...invalidUrls.map((given): [string, object, RegExp] => [
      `the baseUrl ${given}`,
      url(given),
      /^baseUrl must be .* without \/v1,/,
    ]),
    ["a missing apiKey", { apiKey: undefined }, /^apiKey is missing\. It must be ASCII/],
    ["an empty key", { apiKey: "" }, /^apiKey is missing/],
    ["a key with a line break", { apiKey: "abc\n" }, /apiKey must be/],
    ["a key with a space", { apiKey: "a bc" }, /apiKey must be/],
    ["a key with non-ASCII characters", { apiKey: "clé" }, /apiKey must be/],
    ["an unknown option", { baseURL: "https://pay.example" }, /No option "baseURL"\. Use: .*baseUrl/],
    ["a fetch that is not a function", { fetch: "fetch" }, /fetch must be of type function/],
    ["hooks that are not an object", { hooks: "log" }, /hooks must be of type object/],
    ["a timeout of 0", { timeout: 0 }, /timeout must be from 1 to 1000000000/],
    ["a timeout that is a string", { timeout: "5" }, /timeout must be of type number/],
    ["a timeout beyond the maximum", { timeout: 1e9 + 1 }, /timeout must be from 1/],
    ["an unknown retry option", { retry: { maxTries: 3 } }, /No option "maxTries"\. Use: tries/],
    ["an unknown logLevel", { logLevel: "loud" }, /^logLevel must be off, warn or debug\.$/],
    ["a signal that is not one", { signal: {} }, /signal must be an AbortSignal\.$/],
    ["a header name with a space", { headers: { "a b": "c" } }, /headers must be/],
    ["a header value with a line break", { headers: { a: "secret\nb" } }, /headers must be/],
  ];
  test.each(refused)("throw a UsageError for %s", (_, change, message) => {
    const make = () => createClient({ baseUrl: "https://pay.example", apiKey: key, ...change } as ClientOptions);
    expect(make).toThrow(UsageError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secret/);
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
    const { read, sent } = scriptedClient([ok(record)], { baseUrl });
    await read();
    expect(sent[0]!.url).toBe(`${expected}/v1/disbursements/DSB1`);
  });

  test.each<[string, object, unknown]>([
    ["the smallest and the largest values", { timeout: 1e9, retry: { minDelay: 1, tries: 1 } }, {}],
    ["undefined, which is the default", { timeout: undefined, retry: undefined, headers: undefined }, undefined],
    ["null for a call", {}, null],
  ])("may be %s", async (_, options, ofCall) => {
    expect(await scriptedClient([ok(record)], options).read(ofCall as never)).toEqual(record);
  });

  test("of a call override those of the client, for that call only", async () => {
    const { client, read, failure, sent } = scriptedClient([refusal(500), ok(record), refusal(500)], {
      headers: { a: "1", b: "1" },
      retry: { tries: 1 },
    });
    const options = { headers: { b: "2", "X-Api-Key": "x" }, retry: { tries: 2 } };
    await read(options);
    await failure(() => client.disbursements.verify("DSB1"));
    expect(sent.map(({ headers }) => ["a", "b", "x-api-key"].map((name) => headers.get(name)))).toEqual([
      ["1", "2", key],
      ["1", "2", key],
      ["1", "1", key],
    ]);
  });

  test.each<[string, object, string]>([
    ["an aborted signal", { signal: AbortSignal.abort() }, "AbortedError"],
    ["a signal that is not one", { signal: new AbortController() }, "UsageError"],
    ["an invalid time", { timeout: -1 }, "UsageError"],
  ])("of a call send no request with %s", async (_, options, name) => {
    const { client, failure, time, sent } = scriptedClient([]);
    const { disbursements, checkouts } = client;
    for (const call of [
      () => disbursements.create(disbursementRequest, options),
      () => checkouts.verify("x", options),
      () => checkouts.waitFor("x", options),
    ])
      expect(await failure(call)).toMatchObject({ name });
    expect([sent, time.waiting]).toEqual([[], 0]);
  });

  test("call a custom fetch with `this` undefined, as browsers require", async () => {
    async function fetch(this: unknown) {
      expect(this).toBeUndefined();
      return ok(record);
    }
    expect(await scriptedClient([], { fetch }).read()).toEqual(record);
  });
});

describe("the API key", () => {
  test("may come from a function that is called before every attempt", async () => {
    let count = 0;
    const { read, sent } = scriptedClient([refusal(500), ok(record)], { apiKey: async () => `key-${++count}` });
    await read();
    expect(sent.map(({ headers }) => headers.get("x-api-key"))).toEqual(["key-1", "key-2"]);
  });

  const locked = new Error("vault is locked");
  const failed = { name: "AuthenticationError", message: "The apiKey function failed.", cause: locked };
  const invalid = { name: "UsageError", message: expect.stringMatching(/^apiKey (is missing|must be)/) };
  test.each<[string, () => string | Promise<string>, object]>([
    [
      "throws",
      () => {
        throw locked;
      },
      failed,
    ],
    ["rejects", () => Promise.reject(locked), failed],
    ["returns undefined", () => undefined as never, invalid],
    ["returns two lines", () => `${key}\n${key}`, invalid],
  ])("is not sent if its function %s, which is not called again", async (_, returnKey, expected) => {
    const apiKey = vi.fn<() => string | Promise<string>>(returnKey);
    const { failure, sent } = scriptedClient([], { apiKey });
    const error = await failure(({ disbursements }) => disbursements.create(disbursementRequest));
    expect(error).toMatchObject(expected);
    expect(JSON.stringify([error, `${error}`, error.stack])).not.toContain(key);
    expect([apiKey.mock.calls.length, sent]).toEqual([1, []]);
  });

  test("causes a warning when used in a web page", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    createClient({ baseUrl: "https://pay.example", apiKey: key });
    expect(warn).not.toHaveBeenCalled();
    vi.stubGlobal("document", {});
    createClient({ baseUrl: "https://pay.example", apiKey: key });
    vi.unstubAllGlobals();
    expect(warn.mock.calls).toEqual([[expect.stringContaining("API key")]]);
    warn.mockRestore();
  });
});
