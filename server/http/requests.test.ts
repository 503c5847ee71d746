// Requests that the conformance suite does not send: unusual bodies, keys, paths and inputs. Every response is also checked
// against the contract.
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import { createKey, revokeKey } from "../domain/merchants.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";
import { table } from "../testing/table.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());
const current = () => server;

const LIMIT = 16_384;
const PAYOUTS = "POST /v1/disbursements";
const CLOCK = "POST /sandbox/clock/advance";
const json = () => JSON.stringify(aPayout());
/** A valid JSON text with one field's value replaced by a literal. Each call uses a new reference. */
const bodyWith = (field: string, literal: string) =>
  JSON.stringify({ ...aPayout(), [field]: "@" }).replace('"@"', literal);
const amount = (literal: string) => ({ body: bodyWith("amount", literal) });
const typed = (type: string | undefined) => () => ({ body: aPayout(), headers: { "content-type": type } });
const encoded = (encoding: string, body: unknown) => ({ body, headers: { "content-encoding": encoding } });
const payout = (changes: object) => () => ({ body: { ...aPayout(), ...changes } });
/** A valid body of exactly this many bytes. */
const bodyOf = (bytes: number) =>
  JSON.stringify({ ...aPayout(), padding: "" })
    .replace(/.{2}$/, "")
    .padEnd(bytes - 2, "x") + '"}';
const fields = (...named: [path: string, code: string][]) => ({
  fields: named.map(([path, code]) => ({ path, code })),
});

describe("bodies", () => {
  table(current, [
    ["nothing", PAYOUTS, { body: "" }, 400, /^The request body is missing/],
    ["text after the object", PAYOUTS, { body: "{} {}" }, 400, /not valid JSON/],
    ["NaN", PAYOUTS, amount("NaN"), 400, /not valid JSON/],
    ["a number with a leading zero", PAYOUTS, amount("0100"), 400, /not valid JSON/],
    ["a byte order mark", PAYOUTS, () => ({ body: `\ufeff${json()}` }), 400, /not valid JSON/],
    ["bytes that are not UTF-8", PAYOUTS, { body: Buffer.from('{"a":"\xff"}', "latin1") }, 400, /in UTF-8/],
    ["an overlong encoding", PAYOUTS, { body: Buffer.from([0x22, 0xc0, 0x80, 0x22]) }, 400, /in UTF-8/],
    ["deeply nested brackets", PAYOUTS, { body: "[".repeat(LIMIT) }, 400],
    ["a list", PAYOUTS, { body: "[{}]" }, 400, /must be a JSON object/],
    ["a duplicate key", PAYOUTS, { body: '{"amount":1,"country":"CI","amount":2}' }, 400, /the key amount twice/],
    ["a duplicate key, once escaped", PAYOUTS, { body: '{"amount":1,"\\u0061mount":2}' }, 400, /the key amount twice/],
    ["a duplicate key, nested", PAYOUTS, { body: '{"a":[{"b":{"c":1,"c":2}}]}' }, 400, /the key c twice/],
    [
      "fields only in the prototype",
      PAYOUTS,
      () => ({ body: `{"__proto__":${json()}}` }),
      400,
      /reference is required/,
    ],
    ["an escaped key", PAYOUTS, () => ({ body: json().replaceAll("a", "\\u0061") }), 200],
    ["deep nesting in an unknown field", PAYOUTS, { body: bodyWith("x", "[".repeat(500) + "]".repeat(500)) }, 200],
    ["a field named __proto__", PAYOUTS, () => ({ body: json().replace("{", '{"__proto__":{"amount":"x"},') }), 200],
    ["a number that is not exact", PAYOUTS, amount("1.0000000000000000001"), 400, /cannot be represented exactly/],
    ["one near the limit", PAYOUTS, amount("9007199254740990.5"), 400, /cannot be represented exactly/],
    ["one near zero, in an unknown field", PAYOUTS, { body: bodyWith("x", "1e-400") }, 400, /represented exactly/],
    ["minus zero", PAYOUTS, amount("-0"), 422, /^amount must be >= 1/],
    ["2^53", PAYOUTS, amount("9007199254740993"), 422, /^amount must be <= 9007199254740991/],
    ["a huge number", PAYOUTS, amount("1e400"), 422, /^amount must be <= /],
    ["2^53−1, written otherwise", PAYOUTS, amount("9.007199254740991e15"), 200, { data: { amount: 2 ** 53 - 1 } }],
    ["16 KiB", PAYOUTS, { body: bodyOf(LIMIT), chunked: true }, 200],
    ["one byte more", PAYOUTS, { body: bodyOf(LIMIT + 1), chunked: true }, 413, /must not exceed 16384 bytes/],
    ["one byte more to a checkout", "POST /v1/checkouts", { body: bodyOf(LIMIT + 1) }, 413],
    ["one byte more to the sandbox", CLOCK, { body: bodyOf(LIMIT + 1) }, 413],
    ["10 MB, compressed", PAYOUTS, encoded("gzip", gzipSync(" ".repeat(10_000_000))), 413],
    ["gzip", PAYOUTS, () => encoded("GZIP", gzipSync(json())), 200],
    ["deflate", PAYOUTS, () => encoded("deflate", deflateSync(json())), 200],
    ["br", PAYOUTS, () => encoded("br", brotliCompressSync(json())), 200],
    ["an unknown encoding", PAYOUTS, encoded("wat", "{}"), 415],
    ["two encodings", PAYOUTS, encoded("gzip, gzip", "{}"), 415],
    ["another encoding than stated", PAYOUTS, encoded("gzip", "{}"), 400, /does not match its .* Content-Encoding/],
    ["a quoted charset", PAYOUTS, typed('Application/JSON ; charset="UTF-8"'), 200],
    ["an unknown parameter", PAYOUTS, typed("application/json; profile=x;"), 200],
    ["no media type", PAYOUTS, typed(undefined), 415],
    ["a similar media type", PAYOUTS, typed("application/json5"), 415],
    ["another charset", PAYOUTS, typed("application/json; charset=utf-16"), 415],
    ["two media types", PAYOUTS, typed("application/json, text/plain"), 415],
  ]);
});

describe("inputs, and the fields that an error names (D46)", () => {
  table(current, [
    ["null", PAYOUTS, payout({ country: null }), 400, fields(["country", "type"])],
    [
      "a text that is too long",
      PAYOUTS,
      payout({ webhookURL: `https://m.example/${"x".repeat(2_048)}` }),
      422,
      fields(["webhookURL", "max_length"]),
    ],
    [
      "several",
      PAYOUTS,
      payout({ amount: "0", currency: "x", country: undefined }),
      400,
      /^country is required; amount must .+; currency must /,
    ],
    ["no move of the clock", CLOCK, { body: {} }, 400, fields(["seconds", "one_of"], ["to", "one_of"])],
    [
      "two moves",
      CLOCK,
      { body: { seconds: 1, to: "2026-11-20T09:30:00.000Z" } },
      400,
      fields(["seconds", "one_of"], ["to", "one_of"]),
    ],
    ["a time that is a number", CLOCK, { body: { to: 1 } }, 400, fields(["to", "type"])],
    ["a time in words", CLOCK, { body: { to: "tomorrow" } }, 422, fields(["to", "pattern"])],
    ["30 February", CLOCK, { body: { to: "2026-02-30T00:00:00.000Z" } }, 422, fields(["to", "format"])],
    ["the year 10000", CLOCK, { body: { to: "9999-12-31T00:00:00.001Z" } }, 422, fields(["to", "maximum"])],
    [
      "an unknown outcome",
      "POST /sandbox/checkouts/x/finish",
      { body: { outcome: "pending" } },
      422,
      fields(["outcome", "enum"]),
    ],
    ["a reserved character in a query", "GET /sandbox/events?limit=1:5", {}, 400, /^limit must be percent-encoded/],
    ["an invalid escape", "GET /sandbox/events?limit=%zz", {}, 400],
    ["a parameter twice", "GET /v1/checkouts?status=success&status=pending", {}, 400, /status/],
    ["a cursor twice", "GET /v1/disbursements?cursor=1&cursor=2", {}, 400, /cursor/],
    ["a limit beyond all integers", "GET /sandbox/events?limit=99999999999999999999", {}, 422],
    [
      "an empty reference",
      "GET /v1/checkouts?merchantsReference=",
      {},
      422,
      fields(["merchantsReference", "min_length"]),
    ],
    [
      "a leap second",
      "GET /v1/checkouts?createdAfter=2026-12-31T23:59:60.000Z",
      {},
      422,
      fields(["createdAfter", "format"]),
    ],
    ["names of storage and prototypes", "GET /v1/checkouts?merchant_id=x&merchantId=x&a[b]=c&__proto__=d", {}, 200],
    [
      "a time of a statement",
      "GET /v1/statements?from=yesterday",
      {},
      422,
      /^from must be a UTC timestamp with milliseconds, for/,
    ],
    ["an unknown format", "GET /v1/statements?format=pdf", {}, 422],
  ]);
});

describe("paths and methods", () => {
  table(current, [
    ["a double slash", "GET //v1/disbursements", {}, 404],
    ["capitals", "GET /V1/disbursements", {}, 404],
    ["an escaped segment", "GET /%761/disbursements", {}, 404],
    ["an escaped slash", "GET /v1%2Fdisbursements", {}, 404],
    ["a parent segment", "GET /v1/checkouts/../disbursements", {}, 404],
    ["an escaped parent segment", "GET /v1/checkouts/%2e%2e/disbursements", {}, 404],
    ["an invalid escape", "GET /v1/disbursements/%zz", {}, 404],
    ["bytes that are not UTF-8", "GET /v1/disbursements/%ff", {}, 404],
    ["NUL", "GET /v1/disbursements/%00", {}, 404],
    ["a line break", "GET /v1/disbursements/x%0d%0aset-cookie:%20a=b", {}, 404],
    ["the template itself", "GET /v1/disbursements/:reference", {}, 404],
    ["a very long path", `GET /v1/disbursements/${"x".repeat(12_000)}`, {}, 404],
    ["a property of Object.prototype", "GET /v1/disbursements/__proto__", {}, 404],
    ["an asterisk", "GET *", {}, 404],
    ["an unknown method", "PURGE /v1/disbursements", { key: null }, 405],
    ["a method of health", "POST /healthz", { key: null }, 405],
    ["a method of readiness", "DELETE /readyz", { key: null }, 405],
    ["a method of metrics", "OPTIONS /metrics", { key: null }, 405],
  ]);

  test("Allow names every method, HEAD included", async () => {
    const { headers } = await server.request("PUT", "/v1/disbursements", { key: null });
    expect(headers.allow).toBe("GET, HEAD, POST");
  });
});

describe("the API key", () => {
  test.each([
    ["true", "test_", "live_", "is a live key, because it begins with live_, and this is a sandbox."],
    ["false", "live_", "test_", "is a key for a sandbox, because it begins with test_, and this is a live service."],
  ])("with SANDBOX=%s begins with %s, and one that begins with %s is refused", async (SANDBOX, own, other, reason) => {
    const { merchants, merchant, key, request, close } = await startServer({ env: { SANDBOX } });
    try {
      expect(key).toMatch(new RegExp(`^${own}[0-9a-z]{32}$`));
      // This is also true of a key that an earlier version stored.
      for (const text of [`${other}${key.slice(5)}`, `${own}chosen`, "sk_chosen", "chosen"]) {
        await createKey(merchants, merchant.id, { text });
        const { status, body } = await request("GET", "/v1/disbursements", { key: text });
        expect([text, status]).toEqual([text, text.startsWith(other) ? 401 : 200]);
        if (status === 401) expect(body.message).toContain(`This API key ${reason}`);
      }
    } finally {
      await close();
    }
  });

  test("is needed by every operation, and the whole key is compared", async () => {
    for (const [template, item] of Object.entries(openapi.paths))
      for (const method of Object.keys(item))
        for (const key of [null, "", "sk_wrong", `${server.key}x`, server.key.slice(0, -1), server.key.toUpperCase()]) {
          const path = template.replaceAll(/\{\w+\}/g, "nothing");
          const { status, body } = await server.request(method.toUpperCase(), path, { key });
          expect.soft([method, path, status, body.code]).toEqual([method, path, 401, "unauthorized"]);
        }
  });

  test("twice in one request returns 401", async () => {
    const headers = { "x-api-key": [server.key, server.key] as unknown as string };
    expect((await server.request("GET", "/v1/disbursements/nothing", { key: null, headers })).status).toBe(401);
  });

  test("returns 401 immediately after it is revoked; the merchant's other keys still work", async () => {
    const key = await createKey(server.merchants, server.merchant.id);
    const read = () => server.request("GET", "/sandbox/clock", { key });
    expect((await read()).status).toBe(200);
    const { id } = (await server.storage.listKeys()).find(({ hint }) => hint === key.slice(-4))!;
    await revokeKey(server.merchants, id);
    expect((await read()).status).toBe(401);
    expect((await server.request("GET", "/sandbox/clock")).status).toBe(200);
  });

  test("replays no delivery of another merchant", async () => {
    const { key } = await server.addMerchant("Kofi & Sons");
    await server.createPayout({ phoneNumber: "2257038102001", webhookURL: "http://127.0.0.1:1/" });
    const [{ id }] = (await server.request("GET", "/sandbox/events")).body.data.items;
    expect((await server.request("POST", `/sandbox/deliveries/${id}/replay`, { key })).status).toBe(404);
  });
});

test("a merchant's reference equal to another checkout's service reference gives no access to it", async () => {
  const { reference } = (await server.createCheckout()).body.data;
  expect((await server.createCheckout({ reference })).status).toBe(409);
  const { key } = await server.addMerchant("Kofi & Sons");
  const other = (await server.createCheckout({ reference }, { key })).body.data;
  expect(other.reference).not.toBe(reference);
  expect((await server.request("GET", `/v1/checkouts/${reference}`, { key })).status).toBe(404);
});

test("the link of a checkout uses PUBLIC_URL, not the request's Host header", async () => {
  const own = await startServer();
  own.config.publicUrl = "https://pay.example/base";
  const { url, reference } = (await own.createCheckout({}, { headers: { host: "evil.example" } })).body.data;
  expect(url).toBe(`https://pay.example/base/checkouts/${reference}`);
  await own.close();
});

test("the highest configurable fee is exact for the largest amount", async () => {
  const dear = await startServer({ env: { DISBURSEMENT_FEE_BPS: "9999", DISBURSEMENT_FEE_FIXED: "1000000000" } });
  const largest = Number.MAX_SAFE_INTEGER;
  const { reference, fee } = (await dear.createPayout({ amount: largest })).body.data;
  expect(BigInt(fee)).toBe((BigInt(largest) * 9_999n + 5_000n) / 10_000n + 1_000_000_000n);
  expect((await dear.request("GET", `/v1/disbursements/${reference}`)).body.data).toMatchObject({
    amount: largest,
    fee,
  });
  await dear.close();
});

test("a different Content-Type in each request does not grow the validator's cache", async () => {
  const path: string = "express-openapi-validator/dist/middlewares/openapi.request.validator.js";
  const { RequestValidator } = await import(path);
  const compile = vi.spyOn(RequestValidator.prototype, "buildMiddleware");
  // Servers in one process share compiled validators, so load the module again.
  vi.resetModules();
  const { startServer: startAnew } = await import("../testing/server.ts");
  const own = await startAnew();
  for (const parameter of ["first", "1", "2", "3", "4"]) {
    const headers = { "content-type": `application/json; x=${parameter}` };
    await own.createPayout({}, { headers });
    await own.request("GET", "/v1/disbursements/nothing", { headers });
    await own.request("GET", "/sandbox/events", { headers: { "content-type": `text/x-${parameter}` } });
    // Only the payout and the list of events have constraints to validate.
    expect(compile).toHaveBeenCalledTimes(2);
  }
  compile.mockRestore();
  await own.close();
});
