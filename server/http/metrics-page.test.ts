import { afterEach, expect, test } from "vitest";
import { startServer, type TestServer } from "../testing/server.ts";

const TOKEN = "a-token-for-prometheus";
let server: TestServer;
afterEach(() => server.close());

const read = (authorization?: string) => server.request("GET", "/metrics", { key: null, headers: { authorization } });

test("a local sandbox shows its metrics without a key", async () => {
  server = await startServer();
  const { status, headers, text } = await read();
  expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(text).toContain("# TYPE http_requests_total counter");
  const head = await server.request("HEAD", "/metrics", { key: null });
  expect([head.status, head.text]).toEqual([200, ""]);
});

test.each<Record<string, string>>([{ SANDBOX: "false" }, { PUBLIC_URL: "https://pay.example" }])(
  "%j: without a token there are no metrics",
  async (env) => {
    server = await startServer({ env });
    expect((await read()).status).toBe(404);
    expect((await server.request("GET", "/metrics")).status).toBe(404);
  },
);

test.each(["true", "false"])("SANDBOX=%s: a token is required if there is one", async (SANDBOX) => {
  server = await startServer({ env: { SANDBOX, METRICS_TOKEN: TOKEN } });
  expect((await read(`Bearer ${TOKEN}`)).status).toBe(200);
  for (const wrong of [undefined, "", TOKEN, `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`]) {
    const { status, headers, text } = await read(wrong);
    expect.soft([status, headers["www-authenticate"]], wrong).toEqual([401, "Bearer"]);
    expect.soft(text).not.toContain("http_requests");
  }
  expect((await server.request("GET", "/metrics")).status).toBe(401);
  expect(JSON.stringify(server.logged())).not.toContain(TOKEN);
});

test("guesses of the token are limited like guesses of a key", async () => {
  server = await startServer({ env: { METRICS_TOKEN: TOKEN, AUTH_FAILURES_PER_MINUTE: "2" } });
  const statuses = [];
  for (let guess = 0; guess < 3; guess += 1) statuses.push((await read(`Bearer ${guess}`)).status);
  expect(statuses).toEqual([401, 401, 429]);
  expect((await read(`Bearer ${TOKEN}`)).status).toBe(200);
});
