// Requests that the conformance suite does not send: unusual bodies, keys, paths and inputs. Every response is also checked
// against the contract.
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createKey } from "../domain/merchants.ts";
import { aPayout, startServer } from "../testing/server.ts";
import { start, table } from "../testing/table.ts";

const server = await startServer();
afterAll(() => server.close());
const current = () => server;

const LIMIT = 16_384;
const PAYOUTS = "POST /v1/disbursements";
const CLOCK = "POST /sandbox/clock/advance";
const json = () => JSON.stringify(aPayout());
/** A valid JSON text with one field's value replaced by a literal. Each call uses a new reference. */
const bodyWith = (field: string, literal: string) => ({
  body: JSON.stringify({ ...aPayout(), [field]: "@" }).replace('"@"', literal),
});
const amount = (literal: string) => bodyWith("amount", literal);
const typed = (type: string | undefined) => () => ({ body: aPayout(), headers: { "content-type": type } });
const encoded = (encoding: string, body: unknown) => ({ body, headers: { "content-encoding": encoding } });
const payout = (changes: object) => () => ({ body: { ...aPayout(), ...changes } });
const move = (body: object) => ({ to: CLOCK, body });
/** A valid body of exactly this many bytes. */
const bodyOf = (bytes: number) =>
  JSON.stringify({ ...aPayout(), padding: "" })
    .replace(/.{2}$/, "")
    .padEnd(bytes - 2, "x") + '"}';
const fields = (code: string, ...paths: string[]) => ({ fields: paths.map((path) => ({ path, code })) });

describe("bodies", () => {
  table(current, PAYOUTS, [
    ["nothing", { body: "" }, 400, /^The request body is missing/],
    ["text after the object", { body: "{} {}" }, 400, /not valid JSON/],
    ["NaN", amount("NaN"), 400, /not valid JSON/],
    ["a number with a leading zero", amount("0100"), 400, /not valid JSON/],
    ["a byte order mark", () => ({ body: `\ufeff${json()}` }), 400, /not valid JSON/],
    ["bytes that are not UTF-8", { body: Buffer.from('{"a":"\xff"}', "latin1") }, 400, /in UTF-8/],
    ["an overlong encoding", { body: Buffer.from([0x22, 0xc0, 0x80, 0x22]) }, 400, /in UTF-8/],
    ["deeply nested brackets", { body: "[".repeat(LIMIT) }, 400],
    ["a list", { body: "[{}]" }, 400, /must be a JSON object/],
    ["a duplicate key", { body: '{"amount":1,"country":"CI","amount":2}' }, 400, /the key amount twice/],
    ["a duplicate key, once escaped", { body: '{"amount":1,"\\u0061mount":2}' }, 400, /the key amount twice/],
    ["a duplicate key, nested", { body: '{"a":[{"b":{"c":1,"c":2}}]}' }, 400, /the key c twice/],
    ["fields only in the prototype", () => ({ body: `{"__proto__":${json()}}` }), 400, /reference is required/],
    ["an escaped key", () => ({ body: json().replaceAll("a", "\\u0061") }), 200],
    ["a key twice with one value", () => ({ body: json().replace("{", '{"amount":10000,') }), 200],
    ["deep nesting in an unknown field", bodyWith("x", "[".repeat(500) + "]".repeat(500)), 200],
    ["a field named __proto__", () => ({ body: json().replace("{", '{"__proto__":{"amount":"x"},') }), 200],
    ["a number that is not exact", amount("1.0000000000000000001"), 400, /cannot be represented exactly/],
    ["one near the limit", amount("9007199254740990.5"), 400, /cannot be represented exactly/],
    ["one near zero, in an unknown field", bodyWith("x", "1e-400"), 400, /represented exactly/],
    ["minus zero", amount("-0"), 422, /^amount must be >= 1/],
    ["2^53", amount("9007199254740993"), 422, /^amount must be <= 9007199254740991/],
    ["a huge number", amount("1e400"), 422, /^amount must be <= /],
    ["2^53−1, written otherwise", amount("9.007199254740991e15"), 200, { data: { amount: 2 ** 53 - 1 } }],
    ["a whole number, written otherwise", amount("1.0e4"), 200, { data: { amount: 10_000 } }],
    ["16 KiB", { body: bodyOf(LIMIT), chunked: true }, 200],
    ["one byte more", { body: bodyOf(LIMIT + 1), chunked: true }, 413, /must not exceed 16384 bytes/],
    ["one byte more to a checkout", { to: "POST /v1/checkouts", body: bodyOf(LIMIT + 1) }, 413],
    ["one byte more to the sandbox", { to: CLOCK, body: bodyOf(LIMIT + 1) }, 413],
    ["10 MB, compressed", encoded("gzip", gzipSync(" ".repeat(10_000_000))), 413],
    ["gzip", () => encoded("GZIP", gzipSync(json())), 200],
    ["deflate", () => encoded("deflate", deflateSync(json())), 200],
    ["br", () => encoded("br", brotliCompressSync(json())), 200],
    ["an unknown encoding", encoded("wat", "{}"), 415],
    ["two encodings", encoded("gzip, gzip", "{}"), 415],
    ["another encoding than stated", encoded("gzip", "{}"), 400, /does not match its .* Content-Encoding/],
    ["a quoted charset", typed('Application/JSON ; charset="UTF-8"'), 200],
    ["an unknown parameter", typed("application/json; profile=x;"), 200],
    ["no media type", typed(undefined), 415],
    ["a similar media type", typed("application/json5"), 415],
    ["another charset", typed("application/json; charset=utf-16"), 415],
    ["two media types", typed("application/json, text/plain"), 415],
  ]);
});

describe("inputs, and the fields that an error names (D2)", () => {
  const checkouts = (query: string) => `GET /v1/checkouts?${query}`;
  const long = { webhookURL: `https://m.example/${"x".repeat(2_048)}` };
  const several = { amount: "0", currency: "x", country: undefined };
  const finish = { to: "POST /sandbox/checkouts/x/finish", body: { outcome: "pending" } };
  table(current, PAYOUTS, [
    ["null", payout({ country: null }), 400, fields("type", "country")],
    ["a text that is too long", payout(long), 422, fields("max_length", "webhookURL")],
    ["several", payout(several), 400, /^country is required; amount must .+; currency must /],
    ["a time in words", move({ to: "tomorrow" }), 422, fields("pattern", "to")],
    ["the year 10000", move({ to: "9999-12-31T00:00:00.001Z" }), 422, fields("maximum", "to")],
    ["a move of more than a year", move({ seconds: 31_536_001 }), 422, fields("maximum", "seconds")],
    ["an unknown outcome", finish, 422, fields("enum", "outcome")],
    ["a reserved character in a query", "GET /sandbox/events?limit=1:5", 400, /^limit must be percent-encoded/],
    ["an invalid escape", "GET /sandbox/events?limit=%zz", 400],
    ["a parameter twice", checkouts("status=success&status=pending"), 400, /status/],
    ["a cursor twice", "GET /v1/disbursements?cursor=1&cursor=2", 400, /cursor/],
    ["a limit beyond all integers", "GET /sandbox/events?limit=99999999999999999999", 422],
    ["an empty reference", checkouts("merchantsReference="), 422, fields("min_length", "merchantsReference")],
    ["a leap second", checkouts("createdAfter=2026-12-31T23:59:60.000Z"), 422, fields("format", "createdAfter")],
    [
      "names of storage and prototypes",
      checkouts("merchant_id=x&merchantId=x&phoneNumber=1&phoneNumber=2&a[b]=c&__proto__=d"),
      200,
    ],
    ["a time of a statement", "GET /v1/statements?from=yesterday", 422, /^from must be a UTC timestamp with millisec/],
    ["an unknown format", "GET /v1/statements?format=pdf", 422],
  ]);
});

describe("paths and methods", () => {
  const without = (to: string) => ({ to, key: null });
  table(current, "", [
    ["a double slash", "GET //v1/disbursements", 404],
    ["capitals", "GET /V1/disbursements", 404],
    ["an escaped segment", "GET /%761/disbursements", 404],
    ["an escaped slash", "GET /v1%2Fdisbursements", 404],
    ["a parent segment", "GET /v1/checkouts/../disbursements", 404],
    ["an escaped parent segment", "GET /v1/checkouts/%2e%2e/disbursements", 404],
    ["an invalid escape", "GET /v1/disbursements/%zz", 404],
    ["bytes that are not UTF-8", "GET /v1/disbursements/%ff", 404],
    ["NUL", "GET /v1/disbursements/%00", 404],
    ["a line break", "GET /v1/disbursements/x%0d%0aset-cookie:%20a=b", 404],
    ["the template itself", "GET /v1/disbursements/:reference", 404],
    ["a very long path", `GET /v1/disbursements/${"x".repeat(12_000)}`, 404],
    ["a property of Object.prototype", "GET /v1/disbursements/__proto__", 404],
    ["an asterisk", "GET *", 404],
    ["an unknown method", without("PURGE /v1/disbursements"), 405],
    ["a method of health", without("POST /healthz"), 405],
    ["a method of readiness", without("DELETE /readyz"), 405],
    ["a method of metrics", without("OPTIONS /metrics"), 405],
  ]);

  test("Allow names every method, HEAD included", async () => {
    const { headers } = await server.request("PUT", "/v1/disbursements", { key: null });
    expect(headers.allow).toBe("GET, HEAD, POST");
  });

  test("no response names the server's software; all forbid caching, framing and sniffing", async () => {
    const expected = {
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      vary: "x-api-key",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    };
    const usual = ["connection", "content-length", "content-type", "date", "keep-alive", "x-request-id"];
    for (const path of ["/v1/disbursements", "/v1/disbursements/nothing", "/sandbox/clock", "/healthz", "/nothing"]) {
      const { headers } = await server.request("GET", path);
      expect.soft(headers, path).toMatchObject(expected);
      const others = Object.keys(headers).filter((name) => !(name in expected));
      expect.soft(others.toSorted(), path).toEqual(usual);
    }
  });
});

test.each([
  ["true", "test_", "live_", "is a live key, because it begins with live_, and this is a sandbox."],
  ["false", "live_", "test_", "is a key for a sandbox, because it begins with test_, and this is a live service."],
])(
  "with SANDBOX=%s an API key begins with %s, and one that begins with %s is refused",
  async (SANDBOX, own, other, reason) => {
    const { merchants, merchant, key, request } = await start({ env: { SANDBOX } });
    expect(key).toMatch(new RegExp(`^${own}[0-9a-z]{32}$`));
    // This is also true of a key that an earlier version stored.
    for (const text of [`${other}${key.slice(5)}`, `${own}chosen`, "sk_chosen", "chosen"]) {
      await createKey(merchants, merchant.id, { text });
      const { status, body } = await request("GET", "/v1/disbursements", { key: text });
      expect([text, status]).toEqual([text, text.startsWith(other) ? 401 : 200]);
      if (status === 401) expect(body.message).toContain(`This API key ${reason}`);
    }
  },
);

test("the link of a checkout uses PUBLIC_URL, not the request's Host header", async () => {
  const own = await start({ env: { PUBLIC_URL: "https://pay.example/base" } });
  const { url, reference } = (await own.createCheckout({}, { headers: { host: "evil.example" } })).body.data;
  expect(url).toBe(`https://pay.example/base/checkouts/${reference}`);
});

test("a different Content-Type in each request does not grow the validator's cache", async () => {
  const path: string = "express-openapi-validator/dist/middlewares/openapi.request.validator.js";
  const { RequestValidator } = await import(path);
  const compile = vi.spyOn(RequestValidator.prototype, "buildMiddleware");
  for (const parameter of ["1", "2", "3"])
    await server.createPayout({}, { headers: { "content-type": `application/json; x=${parameter}` } });
  // An earlier test may have compiled the only validator of payouts.
  expect(compile.mock.calls.length).toBeLessThan(2);
  compile.mockRestore();
});
