import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import { createKey, revokeKey } from "../domain/merchants.ts";
import type { RequestOptions } from "../testing/http.ts";
import { aPayout, startServer, type TestServer } from "../testing/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

/** The method and path of every operation, with a value for each path parameter. */
const operations = Object.entries(openapi.paths).flatMap(([template, item]) =>
  Object.keys(item).map((method) => [method.toUpperCase(), template.replaceAll(/\{\w+\}/g, "nothing")] as const),
);

describe("the API key", () => {
  test.each(operations)("%s %s returns 401 for a missing or invalid key", async (method, path) => {
    for (const key of [
      null,
      "",
      " ",
      "sk_wrong",
      `${server.key}x`,
      server.key.slice(0, -1),
      server.key.toUpperCase(),
    ]) {
      const { status, body } = await server.request(method, path, { key });
      expect.soft(status, String(key)).toBe(401);
      expect.soft(body.message).not.toContain("sk_");
    }
  });

  test.each([
    ["true", "test_", "live_", "is a live key, because it begins with live_, and this is a sandbox."],
    ["false", "live_", "test_", "is a key for a sandbox, because it begins with test_, and this is a live service."],
  ])("with SANDBOX=%s begins with %s, and one that begins with %s is refused", async (SANDBOX, own, other, reason) => {
    const { merchants, merchant, key, request, close } = await startServer({ env: { SANDBOX } });
    try {
      expect(key).toMatch(new RegExp(`^${own}[0-9a-z]{32}$`));
      const read = (text: string) => request("GET", "/v1/disbursements", { key: text });
      // This is also true of a key that an earlier version stored.
      for (const text of [`${other}${key.slice(5)}`, `${own}chosen`, "sk_chosen", "chosen"]) {
        await createKey(merchants, merchant.id, { text });
        const { status, body } = await read(text);
        expect([text, status]).toEqual([text, text.startsWith(other) ? 401 : 200]);
        if (status === 401) expect(body.message).toContain(`This API key ${reason}`);
      }
    } finally {
      await close();
    }
  });

  test("is read only from its header, whose name is case-insensitive", async () => {
    const elsewhere = { authorization: `Bearer ${server.key}`, cookie: `x-api-key=${server.key}` };
    const path = `/v1/disbursements/nothing?x-api-key=${server.key}`;
    expect((await server.request("GET", path, { key: null, headers: elsewhere })).status).toBe(401);
    const named = { "X-API-Key": server.key };
    expect((await server.request("GET", path, { key: null, headers: named })).status).toBe(404);
  });

  test("two keys in one request return 401", async () => {
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

  test("gives access only to its merchant's records", async () => {
    const { key } = await server.addMerchant("Kofi & Sons");
    const webhookURL = "http://127.0.0.1:1/";
    const payout = (await server.createPayout({ phoneNumber: "2257038102001", webhookURL })).body.data.reference;
    const checkout = (await server.createCheckout()).body.data.reference;
    const events = (await server.request("GET", `/sandbox/events?reference=${payout}`)).body.data.items;
    expect(events).toHaveLength(1);

    const others: [string, string, unknown?][] = [
      ["GET", `/v1/disbursements/${payout}`],
      ["GET", `/v1/checkouts/${checkout}`],
      ["POST", `/sandbox/checkouts/${checkout}/finish`, { outcome: "success" }],
      ["POST", `/sandbox/deliveries/${events[0].id}/replay`],
    ];
    for (const [method, path, body] of others) {
      expect.soft((await server.request(method, path, { key, body })).status, path).toBe(404);
    }
    for (const list of ["events", "deliveries"]) {
      const { body } = await server.request("GET", `/sandbox/${list}?reference=${payout}`, { key });
      expect.soft(body.data.items).toEqual([]);
    }
    // The owner still finds both, unchanged.
    expect((await server.request("GET", `/v1/disbursements/${payout}`)).status).toBe(200);
    expect((await server.request("GET", `/v1/checkouts/${checkout}`)).body.data.status).toBe("pending");
  });
});

describe("the order of validation (D1)", () => {
  const used = "used before";
  beforeAll(() => server.createPayout({ reference: used }));

  const large = "x".repeat(20_000);
  const misspelt = JSON.stringify({ ...aPayout({ reference: used, country: "ci" }), amount: "1" });
  const wrongValue = aPayout({ reference: used, country: "ci" });
  const text = { "content-type": "text/plain" };
  test.each<[number, string, string, string, RequestOptions]>([
    [404, "the path", "PUT", "/v1/nothing", { key: null, body: large, headers: text }],
    [405, "the method", "PUT", "/v1/disbursements", { key: null, body: large, headers: text }],
    [401, "the key", "POST", "/v1/disbursements", { key: null, body: large, headers: text }],
    [413, "the size", "POST", "/v1/disbursements", { body: large, headers: text }],
    [415, "the media type", "POST", "/v1/disbursements", { body: "{", headers: text }],
    [400, "the JSON", "POST", "/v1/disbursements", { body: misspelt.slice(1) }],
    [400, "the form", "POST", "/v1/disbursements", { body: misspelt }],
    [422, "the values", "POST", "/v1/disbursements", { body: wrongValue }],
    [409, "the reference", "POST", "/v1/disbursements", { body: { ...wrongValue, country: "CI" } }],
  ])("returns %i: %s is checked before everything below", async (status, _, method, path, options) => {
    expect((await server.request(method, path, options)).status).toBe(status);
  });

  test("a refused request does not use up its reference (D4)", async () => {
    const payout = aPayout();
    for (const wrong of [{ amount: 0 }, { amount: "1" }, { country: undefined }, { phoneNumber: "1" }]) {
      expect((await server.request("POST", "/v1/disbursements", { body: { ...payout, ...wrong } })).status).not.toBe(
        200,
      );
    }
    expect((await server.request("POST", "/v1/disbursements", { body: payout })).status).toBe(200);
  });
});

describe("methods (D26)", () => {
  const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "PURGE"];
  const paths = [...new Set(operations.map(([, path]) => path)), "/healthz", "/readyz", "/metrics"];

  test.each(paths)("%s: undocumented methods return 405 with Allow, with or without a key", async (path) => {
    const own = operations.filter(([, other]) => other === path).map(([method]) => method);
    const documented = own.length > 0 ? own : ["GET"];
    const allowed = METHODS.filter((method) => documented.includes(method === "HEAD" ? "GET" : method));
    for (const method of METHODS.filter((other) => !allowed.includes(other))) {
      for (const key of [null, server.key]) {
        const { status, headers } = await server.request(method, path, { key });
        expect.soft([status, headers.allow], method).toEqual([405, allowed.join(", ")]);
      }
    }
  });

  test("a CORS preflight returns 405 without CORS headers", async () => {
    const headers = { origin: "https://shop.example", "access-control-request-method": "POST" };
    const response = await server.request("OPTIONS", "/v1/disbursements", { key: null, headers });
    expect(response.status).toBe(405);
    expect(Object.keys(response.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("HEAD returns what GET returns, without the body", async () => {
    const { reference } = (await server.createPayout()).body.data;
    for (const path of [`/v1/disbursements/${reference}`, "/v1/disbursements/nothing", "/sandbox/clock", "/healthz"]) {
      const [get, head] = [await server.request("GET", path), await server.request("HEAD", path)];
      expect.soft(head.status).toBe(get.status);
      expect.soft(head.headers["content-length"]).toBe(get.headers["content-length"]);
      expect.soft(head.text).toBe("");
    }
  });
});

describe("paths", () => {
  let reference: string;
  beforeAll(async () => {
    reference = (await server.createPayout()).body.data.reference;
  });

  test.each([
    ["a trailing slash", () => `/v1/disbursements/${reference}/`],
    ["an empty parameter", () => "/v1/disbursements/"],
    ["a double slash", () => `//v1/disbursements/${reference}`],
    ["a double slash inside", () => `/v1//disbursements/${reference}`],
    ["capitals", () => `/V1/disbursements/${reference}`],
    ["capitals in a name", () => `/v1/Disbursements/${reference}`],
    ["a reference in lower case", () => `/v1/disbursements/${reference.toLowerCase()}`],
    ["a trailing space", () => `/v1/disbursements/${reference}%20`],
    ["an invalid escape", () => "/v1/disbursements/%zz"],
    ["an incomplete escape", () => "/v1/disbursements/%"],
    ["bytes that are not UTF-8", () => "/v1/disbursements/%ff"],
    ["a lone surrogate", () => "/v1/disbursements/%ED%A0%80"],
    ["NUL", () => `/v1/disbursements/${reference}%00`],
    ["a line break", () => `/v1/disbursements/${reference}%0d%0aset-cookie:%20a=b`],
    ["an escaped slash", () => `/v1/disbursements%2F${reference}`],
    ["an escaped slash in a parameter", () => `/v1/disbursements/a%2F${reference}`],
    ["a parent segment", () => `/v1/checkouts/../disbursements/${reference}`],
    ["an escaped parent segment", () => `/v1/checkouts/%2e%2e/disbursements/${reference}`],
    ["two dots as a parameter", () => "/v1/disbursements/.."],
    ["the template itself", () => "/v1/disbursements/{reference}"],
    ["a wildcard", () => "/v1/disbursements/*"],
    ["an Express path parameter", () => "/v1/disbursements/:reference"],
    ["a matrix parameter", () => `/v1/disbursements/${reference};a=b`],
    ["a very long path", () => `/v1/disbursements/${"x".repeat(12_000)}`],
    ["an SQL injection", () => "/v1/disbursements/'%20OR%201=1--"],
    ["a property of Object.prototype", () => "/v1/disbursements/__proto__"],
    ["an unknown version", () => "/v2/disbursements"],
    ["the root", () => "/"],
    ["a fragment", () => "/#/v1/disbursements"],
    ["an asterisk", () => "*"],
  ])("%s returns 404 in the shape of §7", async (_, path) => {
    expect((await server.request("GET", path())).status).toBe(404);
  });

  test.each([
    ["unnecessary escapes in a fixed segment", 404, () => `/%761/disbursements/${reference.replace("D", "%44")}`],
    ["an unnecessary escape in the reference", 200, () => `/v1/disbursements/${reference.replace("D", "%44")}`],
    ["an unknown query", 200, () => `/v1/disbursements/${reference}?a[b]=c&__proto__=d&%zz`],
    ["an empty query", 200, () => `/v1/disbursements/${reference}?`],
  ])("%s returns %i", async (_, status, path) => {
    expect((await server.request("GET", path())).status).toBe(status);
  });
});

async function sendWith(own: TestServer, parameter: string): Promise<void> {
  const headers = { "content-type": `application/json; x=${parameter}` };
  await own.createPayout({}, { headers });
  await own.request("GET", "/v1/disbursements/nothing", { headers });
  await own.request("GET", "/sandbox/events", { headers: { "content-type": `text/x-${parameter}` } });
  await own.request("POST", "/sandbox/webhook-secret/rotate", { headers, body: "{}" });
}

describe("a different Content-Type in each request", () => {
  test("does not grow the validator's cache", async () => {
    const path: string = "express-openapi-validator/dist/middlewares/openapi.request.validator.js";
    const { RequestValidator } = await import(path);
    const compile = vi.spyOn(RequestValidator.prototype, "buildMiddleware");
    // Servers in one process share compiled validators, so load the module again.
    vi.resetModules();
    const { startServer: startAnew } = await import("../testing/server.ts");
    const own = await startAnew();
    await sendWith(own, "first");
    const compiled = compile.mock.calls.length;
    // Only the operation of the payout and the list of events have a validator; the other two operations have no
    // constraints.
    expect(compiled).toBe(2);
    for (let index = 0; index < 5; index += 1) await sendWith(own, String(index));
    expect(compile).toHaveBeenCalledTimes(compiled);
    compile.mockRestore();
    await own.close();
  });
});
