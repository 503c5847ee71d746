import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { runKeys, runServer, type ServerProcess } from "./testing/process.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startReceiver } from "./testing/receiver.ts";
import { aCheckout, aPayout } from "./testing/server.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";

const KEY = "a-key-for-tests-of-the-process";
let folder: string;
let env: { DATABASE_URL: string; [name: string]: string };
beforeEach(() => {
  folder = testFolder();
  env = { DATABASE_URL: `sqlite:${join(folder, "data", "server.db")}` };
});

const start = (changes: NodeJS.ProcessEnv = {}) => testProcess({ ...env, ...changes });
const curlLine = (server: ServerProcess) => /^curl .+$/m.exec(server.output())![0];
const paste = async (line: string, shellEnv: NodeJS.ProcessEnv = {}) =>
  JSON.parse((await promisify(execFile)("sh", ["-c", line], { env: { PATH: process.env.PATH, ...shellEnv } })).stdout);

test("webhook secrets are in no file once there is a key for them, and without it the server does not start again", async () => {
  const file = join(folder, "secrets.key");
  writeFileSync(file, `${Buffer.alloc(32, 7).toString("base64")}\n`);
  const plain = await start({ SANDBOX_API_KEY: KEY });
  const merchant = / id: (\S+),/.exec((await runKeys(env, "merchants")).stdout)![1]!;
  const before = (await runKeys(env, "secret", merchant)).stdout;
  const secret = /whsec_\S+/.exec(before)![0];
  await stop(plain);
  const path = join(folder, "data", "server.db");
  expect(readFileSync(path, "latin1")).toContain(secret);

  const keyed = { SECRETS_KEY_FILE: file };
  const sealed = await start({ ...keyed, SANDBOX_API_KEY: KEY });
  await runKeys(env, "create-merchant", "Eve");
  expect((await runKeys(env, "secret", merchant)).stdout).toBe(before);
  await stop(sealed);
  const files = readdirSync(join(folder, "data")).map((name) => readFileSync(join(folder, "data", name), "latin1"));
  expect(files.join().match(/whsec_/)).toBeNull();

  expect((await runKeys({ ...env, ...keyed }, "secret", merchant)).stdout).toBe(before);
  for (const ended of [await runServer(env), await runKeys(env, "secret", merchant)]) {
    expect(ended).toMatchObject({
      code: expect.toBeOneOf([1, 2]),
      stderr: expect.stringMatching(/^The webhook secrets .+ SECRETS_KEY_FILE /),
    });
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  }
});

test.each([
  [["--help"], 0, ""],
  [["--help", "serve"], 2, "Unknown argument: --help serve\n\n"],
])("with the arguments %j no server is started", async (args, code, problem) => {
  const ended = await runServer({ ...env, PORT: "none" }, {}, ...args);
  const usage = `${problem}Usage: npm start, or: node server/main.ts\n`;
  expect(ended).toMatchObject({ code, [code === 0 ? "stdout" : "stderr"]: expect.stringContaining(usage) });
});

describe("first start", () => {
  test("the printed curl command works repeatedly; the key is in a file of the owner, not in the output", async () => {
    const first = await start();
    expect(first.output()).not.toContain("sk_");
    // No colours, because the output is not a terminal.
    expect(first.output()).not.toContain("\u001b");
    const [, file] = /Your API key is in (.+)\. Keep it/.exec(first.output())!;
    expect(statSync(file!).mode & 0o777).toBe(0o600);
    const key = readFileSync(file!, "utf8").trim();
    const line = curlLine(first);
    const payouts = [await paste(line), await paste(line)];
    expect(payouts).toMatchObject([{ statusCode: 200 }, { statusCode: 200 }]);
    expect(payouts[0].data.reference).not.toBe(payouts[1].data.reference);
    await stop(first);

    const second = await start();
    expect(second.output()).not.toContain("sk_");
    expect(curlLine(second)).toContain('"x-api-key: $API_KEY"');
    expect(await paste(curlLine(second), { API_KEY: key })).toMatchObject({ statusCode: 200 });
    const { request } = second.client(key);
    expect((await request("GET", `/v1/disbursements/${payouts[0].data.reference}`)).status).toBe(200);
  });

  test("SANDBOX_API_KEY is valid from the first start and is never printed", async () => {
    for (const SANDBOX_API_KEY of [KEY, KEY, `${KEY}-another`]) {
      const server = await start({ SANDBOX_API_KEY, LOG_LEVEL: "trace" });
      const client = server.client(SANDBOX_API_KEY);
      expect((await client.request("GET", "/sandbox/clock")).status).toBe(200);
      expect((await server.client(KEY).request("GET", "/sandbox/clock")).status).toBe(200);
      const { stdout, stderr } = await stop(server);
      expect(stdout + stderr).toContain('"route":"/sandbox/clock"');
      expect(stdout + stderr).not.toContain(SANDBOX_API_KEY);
    }
  });

  test("SANDBOX_API_KEY is valid for the first request", async () => {
    const port = await reservePort();
    const started = start({ PORT: String(port), SANDBOX_API_KEY: KEY });
    const list = () => fetch(`http://127.0.0.1:${port}/v1/disbursements`, { headers: { "x-api-key": KEY } });
    let status: number | undefined;
    while (status === undefined) {
      status = await list().then(
        (response) => response.status,
        () => undefined,
      );
    }
    expect(status).toBe(200);
    await started;
  });

  test("a revoked SANDBOX_API_KEY stays revoked, and the start says so", async () => {
    const first = await start({ SANDBOX_API_KEY: KEY });
    const [, id] = / id: (\S+),/.exec((await runKeys(env, "list")).stdout)!;
    expect((await runKeys(env, "revoke", id!)).stdout).toBe("Done.\n");
    await stop(first);
    const second = await start({ SANDBOX_API_KEY: KEY });
    expect(second.output()).toContain(`The key in SANDBOX_API_KEY (${id}) was revoked and stays invalid.`);
    expect((await second.client(KEY).request("GET", "/sandbox/clock")).status).toBe(401);
  });
});

describe("failed start", () => {
  test.each(["--no-deprecation", "--throw-deprecation"])("Node's %s changes nothing", async (NODE_OPTIONS) => {
    const server = await start({ NODE_OPTIONS, SANDBOX_API_KEY: KEY });
    const { request } = server.client(KEY);
    expect((await request("POST", "/v1/disbursements", { body: aPayout() })).status).toBe(200);
  });

  test("reports a port in use and how to fix it", async () => {
    const taken = createServer();
    await once(taken.listen(0, "127.0.0.1"), "listening");
    const { port } = taken.address() as AddressInfo;
    const { code, stdout, stderr } = await runServer({ ...env, PORT: String(port) });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `Port ${port} on 127.0.0.1 is already in use. Stop the process that uses it, or set PORT to another port.\n`,
    );
    // The first successful start shows the key.
    expect((await start()).output()).toContain("Your API key is in ");
    taken.close();
  });

  test("reports a database in use by another server, which keeps running", async () => {
    const first = await start({ SANDBOX_API_KEY: KEY });
    const { code, stdout, stderr } = await runServer({ ...env, SANDBOX_API_KEY: KEY });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^Another server or command is using .+server\.db\. Stop it, or set DATABASE_URL to another file\./,
    );
    expect((await first.client(KEY).request("GET", "/readyz")).status).toBe(200);
  });

  test.each([
    [
      "an invalid path",
      { DATABASE_URL: "sqlite:/dev/null/server.db" },
      /^Cannot open the database .+ Check DATABASE_URL\.\n$/,
    ],
    [
      "a host of another machine",
      { HOST: "192.0.2.1" },
      /^Cannot listen on 192\.0\.2\.1:0: .+ Check HOST and PORT\.\n$/,
    ],
  ])("%s", async (_, changes, message) => {
    const { code, stderr } = await runServer({ ...env, ...changes });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});

describe("shutdown", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s: sends a delayed response and exits with 0", async (signal) => {
    const server = await start({ SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "0" });
    const client = server.client(KEY);
    const payout = aPayout({ phoneNumber: "2257038102408" });
    const held = client.request("POST", "/v1/disbursements", { body: payout });
    let again = await client.request("POST", "/v1/disbursements", {
      body: { ...payout, phoneNumber: "2257038102500" },
    });
    while (again.status !== 409) {
      again = await client.request("POST", "/v1/disbursements", {
        body: { ...payout, phoneNumber: "2257038102500" },
      });
    }
    server.kill(signal);
    expect((await held).status).toBe(200);
    expect((await server.ended).code).toBe(0);
    await expect(client.request("GET", "/healthz")).rejects.toThrow(/ECONNREFUSED/);
    await client.close();
  });

  test("with DRAIN_DELAY_MS it serves requests for a while after it has ceased to be ready", async () => {
    const server = await start({ SANDBOX_API_KEY: KEY, DRAIN_DELAY_MS: "3000" });
    const { request } = server.client(KEY);
    const isReady = async () => (await request("GET", "/readyz")).status === 200;
    expect(await isReady()).toBe(true);
    server.kill("SIGTERM");
    await expect.poll(isReady, { interval: 5 }).toBe(false);
    const { status, headers } = await request("POST", "/v1/disbursements", { body: aPayout() });
    expect([status, headers.connection]).toEqual([200, "close"]);
    expect((await server.ended).code).toBe(0);
  });

  test("stops despite a caller that keeps sending requests on one connection", async () => {
    const server = await start({ SANDBOX_API_KEY: KEY });
    const client = server.client(KEY);
    const asking = (async () => {
      const statuses: number[] = [];
      try {
        for (;;) statuses.push((await client.request("GET", "/sandbox/clock")).status);
      } catch {
        return statuses;
      }
    })();
    await client.request("GET", "/healthz");
    await stop(server);
    expect(new Set(await asking)).toEqual(new Set([200]));
  });

  test("waits for a webhook attempt in progress and records it", async () => {
    const receiver = await startReceiver();
    const server = await start({ SANDBOX_API_KEY: KEY });
    const body = aPayout({ phoneNumber: "2257038102001", webhookURL: receiver.url });
    const { reference } = (await server.client(KEY).request("POST", "/v1/disbursements", { body })).body.data;
    await stop(server);

    const next = await start({ SANDBOX_API_KEY: KEY });
    const { request } = next.client(KEY);
    await request("POST", "/sandbox/clock/advance", { body: { seconds: 0 } });
    const { items: deliveries } = (await request("GET", `/sandbox/deliveries?reference=${reference}`)).body.data;
    expect(deliveries).toMatchObject([{ status: "delivered" }]);
    expect(receiver.received).toHaveLength(deliveries[0].attempts.length);
    await receiver.close();
  });

  test("a second signal stops the server immediately", async () => {
    const server = await start({ SANDBOX_API_KEY: KEY });
    const endless = connect(server.port, "127.0.0.1");
    endless.write(`POST /v1/disbursements HTTP/1.1\r\nHost: a\r\nx-api-key: ${KEY}\r\nContent-Length: 9\r\n\r\n{`);
    await server.client(KEY).request("GET", "/sandbox/clock");
    // The first signal would wait for this request.
    server.kill("SIGTERM");
    server.kill("SIGINT");
    const [{ code }] = await Promise.all([server.ended, once(endless, "close")]);
    expect(code).toBe(null);
  });
});

test("idle connections cannot lock others out, even with few file descriptors", async () => {
  const server = await testProcess({ ...env, SANDBOX_API_KEY: KEY }, { openFiles: 64 });
  const idle = Array.from({ length: 60 }, () => connect(server.port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(idle.map((socket) => once(socket, "connect")));
  const checkout = await server.client(KEY).request("POST", "/v1/checkouts", { body: aCheckout() });
  expect(checkout.status).toBe(200);
  // The payment page reads no file at its first use.
  expect((await fetch(checkout.body.data.url)).status).toBe(200);
  for (const socket of idle) socket.destroy();
});
