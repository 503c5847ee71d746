import { afterEach, describe, expect, test } from "vitest";
import openapi from "../../generated/openapi.json" with { type: "json" };
import packageJson from "../package.json" with { type: "json" };
import { LIVE } from "../testing/process.ts";
import { startReceiver } from "../testing/receiver.ts";
import { aPayout, startServer, type TestServer, type TestServerOptions } from "../testing/server.ts";

const running: TestServer[] = [];
async function start(options?: TestServerOptions): Promise<TestServer> {
  const server = await startServer(options);
  running.push(server);
  return server;
}
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

test.each([
  ["sandbox", "simulator", {}],
  ["live", "test", LIVE],
])("/healthz of a %s server names its rail, %s", async (environment, rail, env) => {
  const server = await start({ env });
  const { status, body } = await server.request("GET", "/healthz", { key: null });
  expect([status, body]).toEqual([200, { status: "ok", environment, version: packageJson.version, rail }]);
});

test("without the sandbox its paths return 404, with or without a key", async () => {
  const server = await start({ env: { SANDBOX: "false" } });
  const paths = Object.entries(openapi.paths).filter(([path]) => path.startsWith("/sandbox/"));
  for (const [template, item] of paths) {
    const path = template.replaceAll(/\{\w+\}/g, "nothing");
    for (const method of [...Object.keys(item), "delete", "options"])
      for (const key of [server.key, null])
        expect.soft((await server.request(method.toUpperCase(), path, { key })).status, path).toBe(404);
  }
});

/** Sends requests until one is refused. */
async function untilRefused(server: TestServer, options: { key?: string } = {}) {
  for (let sent = 1; ; sent += 1) {
    const { status, headers, body } = await server.request("GET", "/v1/disbursements/nothing", options);
    if (status !== 404) return { sent, status, retryAfter: headers["retry-after"], message: body.message };
  }
}

describe("the rate limit (D15)", () => {
  test("returns 429 with Retry-After, counted per merchant", async () => {
    const server = await start({ env: { RATE_LIMIT: "3" } });
    const { key } = await server.addMerchant("Kofi & Sons");
    const refused = { status: 429, retryAfter: "1", message: expect.stringContaining("Retry-After") };
    const first = await untilRefused(server);
    expect(first).toMatchObject(refused);
    expect(first.sent).toBeGreaterThan(3);
    const other = await server.request("GET", "/v1/disbursements/nothing", { key });
    expect(other.status).toBe(404);
    expect((await server.request("GET", "/healthz")).status).toBe(200);
    expect((await server.request("GET", "/v1/disbursements/nothing", { key: null })).status).toBe(401);
  });

  test("applies before the body is read", async () => {
    const server = await start({ env: { RATE_LIMIT: "1" } });
    await untilRefused(server);
    let response = await server.createPayout({ reference: "later" }, { body: "{".repeat(20_000) });
    while (response.status === 413) response = await server.createPayout({}, { body: "{".repeat(20_000) });
    expect(response.status).toBe(429);
  });
});

test.each(["GET", "POST"])("an unexpected error of a %s returns 500 without details, and is logged", async (method) => {
  const server = await start();
  const SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzdG9yYWdl /var/lib/place.db";
  const fault = () => Promise.reject(new Error(SECRET));
  Object.assign(server.storage, { findDisbursement: fault, insertDisbursement: fault });
  const path = method === "GET" ? "/v1/disbursements/x" : "/v1/disbursements";
  const response = await server.request(method, path, method === "GET" ? {} : { body: aPayout() });
  expect(response.status).toBe(500);
  expect(response.body.message).toBe(
    `The server failed to process the request. Include the x-request-id when you report this.${method === "POST" ? " Nothing was recorded." : ""}`,
  );
  expect(JSON.stringify(response.headers)).not.toContain("whsec");
  const logged = server.logged().filter(({ requestId }) => requestId === response.headers["x-request-id"]);
  expect(logged.map(({ err }) => err?.message).filter(Boolean)).toEqual([SECRET]);
  expect(logged.at(-1)).toMatchObject({ method, route: path.replace("/x", "/:reference"), status: 500 });
});

test("the rate that was agreed with a merchant counts for this merchant only", async () => {
  const server = await start();
  const other = await server.addMerchant("Other");
  await server.storage.setMerchantTerms(server.merchant.id, { rateLimit: 2 }, "command ada@host");
  const list = async (key: string) => (await server.request("GET", "/v1/disbursements", { key })).status;
  const inTurn = async (key: string) => [await list(key), await list(key), await list(key)];
  expect(await inTurn(server.key)).toEqual([200, 200, 429]);
  expect(await inTurn(other.key)).toEqual([200, 200, 200]);
  server.clock.advance(1_000);
  expect(await list(server.key)).toBe(200);
});

describe("the log", () => {
  test("has one line per request, without keys, secrets, bodies or queries", async () => {
    const receiver = await startReceiver();
    const server = await start();
    const rotated = (await server.request("POST", "/sandbox/webhook-secret/rotate")).body.data;
    await server.createPayout({ phoneNumber: "2257038102001", webhookURL: `${receiver.url}?token=hidden-in-url` });
    await server.createPayout({ reference: "confidential-reference", phoneNumber: "2257038109876" });
    await server.createPayout({ reference: "confidential-reference" });
    await server.request("GET", "/v1/disbursements/x?token=hidden-in-query", { key: "sk_hidden-in-header" });
    await server.request("POST", "/v1/disbursements", { body: "hidden-in-body" });
    await server.pass(60_000);
    expect(receiver.received.length).toBeGreaterThan(0);

    const lines = server.logged();
    const routes = lines.flatMap(({ method, route, status }) => (method ? [`${method} ${route} ${status}`] : []));
    expect(routes).toEqual([
      "POST /sandbox/webhook-secret/rotate 200",
      "POST /v1/disbursements 200",
      "POST /v1/disbursements 200",
      "POST /v1/disbursements 409",
      "GET /v1/disbursements/:reference 401",
      "POST /v1/disbursements 400",
    ]);
    const text = JSON.stringify(lines);
    const secrets = [
      server.key,
      rotated.secret,
      rotated.previousSecrets[0].secret,
      "hidden-in",
      "confidential",
      "2257038109876",
    ];
    for (const secret of secrets) expect.soft(text).not.toContain(secret);
    await receiver.close();
  });

  test("a response that was never sent is logged without a status", async () => {
    const server = await start();
    await expect(server.createPayout({ phoneNumber: "2257038102504" })).rejects.toThrow("socket hang up");
    expect(server.logged().find(({ route }) => route === "/v1/disbursements")).not.toHaveProperty("status");
  });
});

test("response headers do not reveal the server's software, and forbid caching, framing and sniffing", async () => {
  const server = await start();
  const expected = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    vary: "x-api-key",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
  for (const path of ["/v1/disbursements/nothing", "/sandbox/webhook-secret", "/healthz", "/nothing"]) {
    const { headers } = await server.request("GET", path);
    expect.soft(headers, path).toMatchObject(expected);
    const others = Object.keys(headers).filter((name) => !(name in expected));
    expect
      .soft(others.toSorted(), path)
      .toEqual(["connection", "content-length", "content-type", "date", "keep-alive", "x-request-id"]);
  }
});

describe("requests without a valid key", () => {
  test("get 429 beyond the limit of their address; a valid key still works", async () => {
    const server = await start({ env: { AUTH_FAILURES_PER_MINUTE: "3" } });
    const statuses = [];
    for (const key of ["wrong", null, "wrong", "wrong", null]) {
      statuses.push((await server.request("GET", "/v1/disbursements/x", { key })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const { status, headers } = await server.request("GET", "/v1/disbursements/x", { key: "wrong" });
    expect(status).toBe(429);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect((await server.request("GET", "/v1/disbursements/x")).status).toBe(404);
  });

  test("are counted by the client's address behind a trusted proxy", async () => {
    const server = await start({ env: { AUTH_FAILURES_PER_MINUTE: "1", TRUST_PROXY: "1" } });
    const from = async (address: string) =>
      (await server.request("GET", "/v1/disbursements/x", { key: null, headers: { "x-forwarded-for": address } }))
        .status;
    expect([await from("203.0.113.7"), await from("203.0.113.7"), await from("198.51.100.7")]).toEqual([401, 429, 401]);
    // An IPv6 client can choose any address of its network.
    expect([await from("2001:db8::1"), await from("2001:db8::2")]).toEqual([401, 429]);
    const clients = server.logged().flatMap(({ client }) => (client === undefined ? [] : [client]));
    expect(new Set(clients)).toEqual(new Set(["203.0.113.0/24", "198.51.100.0/24", "2001:db8::/48"]));
  });
});

test("the log contains no part of a path: no reference, key or phone number, however they are escaped", async () => {
  const server = await startServer();
  const { reference } = (await server.createCheckout()).body.data;
  const key = "sk_abcdefghijklmnopqrstuvwxyz012345";
  const phoneNumber = "2257038102473";
  const escaped = reference.replace("CHK", "%43HK");
  await server.request("GET", `/v1/checkouts/${reference}`);
  await server.request("GET", `/v1/checkouts/${escaped}`);
  await server.request("GET", `/checkouts/${escaped}`);
  await server.request("GET", `/v1/disbursements/${key.replace("_", "%5F")}`);
  await server.request("GET", `/payouts/to/${phoneNumber}`);
  const lines = server.logged();
  expect(lines.slice(1).map(({ route }) => route)).toEqual([
    "/v1/checkouts/:reference",
    "/v1/checkouts/:reference",
    "/checkouts/:reference",
    "/v1/disbursements/:reference",
    "unknown",
  ]);
  for (const secret of [reference.slice(3), key.slice(3), phoneNumber])
    expect(JSON.stringify(lines)).not.toContain(secret);
  await server.close();
});
