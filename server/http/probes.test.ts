// What load balancers and Prometheus ask the server.
import { describe, expect, test, vi } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { LIVE } from "../testing/process.ts";
import { start } from "../testing/table.ts";

test.each([
  ["sandbox", "simulator", {}],
  ["live", "test", LIVE],
])("/healthz of a %s server names its rail, %s", async (environment, rail, env) => {
  const { status, body } = await (await start({ env })).request("GET", "/healthz", { key: null });
  expect([status, body]).toEqual([200, { status: "ok", environment, version: packageJson.version, rail }]);
});

test("/readyz asks the storage at most once a second, shares a slow answer, and shows no details of a failure", async () => {
  const server = await start();
  const ping = vi.spyOn(server.storage, "ping");
  const ask = () => server.request("GET", "/readyz", { key: null });
  const ready = async () => [(await ask()).status, ping.mock.calls.length];
  expect([await ready(), await ready()]).toEqual([
    [200, 1],
    [200, 1],
  ]);
  server.clock.advance(1_000);
  expect(await ready()).toEqual([200, 2]);

  const { promise, reject } = Promise.withResolvers<void>();
  ping.mockReturnValueOnce(promise);
  server.clock.advance(1_000);
  const calls = [ready()];
  await expect.poll(() => ping.mock.calls.length).toBe(3);
  server.clock.advance(10_000);
  calls.push(ready(), ready());
  // These calls are in progress when another request has been served.
  expect((await server.request("GET", "/healthz", { key: null })).status).toBe(200);
  reject(new Error("no space in /secret/place"));
  expect(await Promise.all(calls)).toEqual([
    [503, 3],
    [503, 3],
    [503, 3],
  ]);
  expect((await ask()).text).not.toContain("space");
  expect(server.logged().filter(({ msg, err }) => msg === "not ready" && /space/.test(err.message))).toHaveLength(1);
  server.clock.advance(1_000);
  expect(await ready()).toEqual([200, 4]);
});

describe("/metrics", () => {
  const METRICS_TOKEN = "a-token-for-prometheus";
  /** Starts a server. Returns how to read its metrics. */
  async function reader(env: Record<string, string>) {
    const server = await start({ env });
    const read = (authorization?: string, method = "GET") =>
      server.request(method, "/metrics", { key: null, headers: { authorization } });
    return { server, read };
  }

  test("needs no token in a local sandbox, and does not exist without a token elsewhere", async () => {
    const { read } = await reader({});
    const { status, headers, text } = await read();
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(text).toContain("# TYPE http_requests_total counter");
    expect(await read(undefined, "HEAD")).toMatchObject({ status: 200, text: "" });
    for (const [name, value] of [
      ["SANDBOX", "false"],
      ["PUBLIC_URL", "https://pay.example"],
    ] as const)
      expect.soft((await (await reader({ [name]: value })).read()).status, name).toBe(404);
  });

  test.each(["true", "false"])("needs the token if there is one, and limits guesses: SANDBOX=%s", async (SANDBOX) => {
    const { server, read } = await reader({ SANDBOX, METRICS_TOKEN, AUTH_FAILURES_PER_MINUTE: "7" });
    const right = `Bearer ${METRICS_TOKEN}`;
    expect((await read(right)).status).toBe(200);
    for (const authorization of [undefined, "", METRICS_TOKEN, `${right}x`, right.replace("a-", ""), "Basic x"]) {
      const { status, headers, text } = await read(authorization);
      expect.soft([status, headers["www-authenticate"]], authorization).toEqual([401, "Bearer"]);
      expect.soft(text).not.toContain("http_requests");
    }
    expect((await server.request("GET", "/metrics")).status).toBe(401);
    expect((await read("Bearer guess")).status).toBe(429);
    expect((await read(right)).status).toBe(200);
    expect(JSON.stringify(server.logged())).not.toContain(METRICS_TOKEN);
  });
});
