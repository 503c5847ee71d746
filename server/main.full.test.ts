import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { KEY, runKeys, runServer, type ServerProcess } from "./testing/process.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startReceiver } from "./testing/receiver.ts";
import { aPayout } from "./testing/server.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";

let folder: string;
let env: { DATABASE_URL: string; [name: string]: string };
beforeEach(() => {
  folder = testFolder();
  env = { DATABASE_URL: `sqlite:${join(folder, "data", "server.db")}` };
});

const start = (changes: NodeJS.ProcessEnv = {}) => testProcess({ ...env, ...changes });
const statusOf = async ({ request }: Pick<ServerProcess, "request">, path = "/sandbox/clock") =>
  (await request("GET", path)).status;

test("webhook secrets are in no file once there is a key for them, and without it the server does not start again", async () => {
  const file = join(folder, "secrets.key");
  writeFileSync(file, `${Buffer.alloc(32, 7).toString("base64")}\n`);
  const plain = await start();
  const merchant = / id: (\S+),/.exec((await runKeys(env, "merchants")).stdout)![1]!;
  const before = (await runKeys(env, "secret", merchant)).stdout;
  await stop(plain);
  const contents = () =>
    readdirSync(join(folder, "data")).map((name) => readFileSync(join(folder, "data", name), "latin1"));
  expect(contents().join()).toContain(/whsec_\S+/.exec(before)![0]);

  const keyed = { SECRETS_KEY_FILE: file };
  const sealed = await start(keyed);
  await runKeys(env, "create-merchant", "Eve");
  expect((await runKeys(env, "secret", merchant)).stdout).toBe(before);
  await stop(sealed);
  expect(contents().join()).not.toContain("whsec_");
  expect((await runKeys({ ...env, ...keyed }, "secret", merchant)).stdout).toBe(before);
  for (const { code, stderr } of [await runServer(env), await runKeys(env, "secret", merchant)]) {
    expect([1, 2]).toContain(code);
    expect(stderr).toMatch(/^The webhook secrets .+ SECRETS_KEY_FILE /);
    expect(stderr).not.toMatch(/\n\s+at /);
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
  test("the printed curl command works repeatedly; the key is in a file, which only its owner may read, not in the output", async () => {
    const without = { SANDBOX_API_KEY: undefined };
    const paste = async (server: ServerProcess, shellEnv: NodeJS.ProcessEnv = {}) => {
      const line = /^curl .+$/m.exec(server.output())![0];
      const options = { env: { PATH: process.env.PATH, ...shellEnv } };
      return JSON.parse((await promisify(execFile)("sh", ["-c", line], options)).stdout);
    };
    const first = await start(without);
    // No colours, because the output is not a terminal.
    expect(first.output()).not.toContain("\u001b");
    const [, file] = /Your API key is in (.+)\. Keep it/.exec(first.output())!;
    const data = join(folder, "data");
    for (const name of [".", ...readdirSync(data)]) expect.soft(statSync(join(data, name)).mode & 0o077, name).toBe(0);
    const key = readFileSync(file!, "utf8").trim();
    expect(first.output()).not.toContain(key);
    const payouts = [await paste(first), await paste(first)];
    expect(payouts).toMatchObject([{ statusCode: 200 }, { statusCode: 200 }]);
    expect(payouts[0].data.reference).not.toBe(payouts[1].data.reference);
    await stop(first);

    const second = await start(without);
    expect(second.output()).not.toContain(key);
    expect(second.output()).toContain('"x-api-key: $API_KEY"');
    expect(await paste(second, { API_KEY: key })).toMatchObject({ statusCode: 200 });
    expect(await statusOf(second.client(key), `/v1/disbursements/${payouts[0].data.reference}`)).toBe(200);
  });

  test("SANDBOX_API_KEY is valid from the first start and is never printed", async () => {
    for (const SANDBOX_API_KEY of [KEY, KEY, `${KEY}-another`]) {
      const server = await start({ SANDBOX_API_KEY, LOG_LEVEL: "trace" });
      expect([await statusOf(server), await statusOf(server.client(KEY))]).toEqual([200, 200]);
      const { stdout, stderr } = await stop(server);
      expect(stdout + stderr).toContain('"route":"/sandbox/clock"');
      expect(stdout + stderr).not.toContain(SANDBOX_API_KEY);
    }
  });

  test("SANDBOX_API_KEY is valid for the first request", async () => {
    const port = await reservePort();
    const started = start({ PORT: String(port) });
    const list = () => fetch(`http://127.0.0.1:${port}/v1/disbursements`, { headers: { "x-api-key": KEY } });
    let response: Response | undefined;
    while (!response) response = await list().catch(() => undefined);
    expect(response.status).toBe(200);
    await started;
  });
});

test("reports a port in use and how to fix it, before it shows the key", async () => {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  const { port } = taken.address() as AddressInfo;
  expect(await runServer({ ...env, PORT: String(port) })).toEqual({
    code: 1,
    stdout: "",
    stderr: `Port ${port} on 127.0.0.1 is already in use. Stop the process that uses it, or set PORT to another port.\n`,
  });
  taken.close();
  expect((await start({ SANDBOX_API_KEY: undefined })).output()).toContain("Your API key is in ");
});

test.each([
  [
    "an invalid path",
    { DATABASE_URL: "sqlite:/dev/null/server.db" },
    /^Cannot open the database .+ Check DATABASE_URL\.\n$/,
  ],
  ["a host of another machine", { HOST: "192.0.2.1" }, /^Cannot listen on 192\.0\.2\.1:0: .+ Check HOST and PORT\.\n$/],
])("%s ends the start", async (_, changes, message) => {
  const { code, stderr } = await runServer({ ...env, ...changes });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
});

describe("shutdown", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s: sends a delayed response and exits with 0", async (signal) => {
    const server = await start({ SETTLE_DELAY_MS: "0" });
    const payout = aPayout({ phoneNumber: "2257038102408" });
    const held = server.createPayout(payout);
    const again = () => server.createPayout({ ...payout, phoneNumber: "2257038102500" });
    while ((await again()).status !== 409);
    server.kill(signal);
    expect((await held).status).toBe(200);
    expect((await server.ended).code).toBe(0);
    await expect(server.request("GET", "/healthz")).rejects.toThrow(/ECONNREFUSED/);
  });

  test("with DRAIN_DELAY_MS it serves requests for a while after it has ceased to be ready", async () => {
    const server = await start({ DRAIN_DELAY_MS: "3000" });
    expect(await statusOf(server, "/readyz")).toBe(200);
    server.kill("SIGTERM");
    await expect.poll(() => statusOf(server, "/readyz"), { interval: 5 }).not.toBe(200);
    const { status, headers } = await server.createPayout();
    expect([status, headers.connection]).toEqual([200, "close"]);
    expect((await server.ended).code).toBe(0);
  });

  test("stops despite a caller that keeps sending requests on one connection", async () => {
    const server = await start();
    const asking = (async () => {
      const statuses: number[] = [];
      try {
        for (;;) statuses.push(await statusOf(server));
      } catch {
        return statuses;
      }
    })();
    await statusOf(server, "/healthz");
    await stop(server);
    expect(new Set(await asking)).toEqual(new Set([200]));
  });

  test("waits for a webhook attempt in progress and records it", async () => {
    const receiver = await startReceiver();
    const first = await start();
    const payout = { phoneNumber: "2257038102001", webhookURL: receiver.url };
    const { reference } = (await first.createPayout(payout)).body.data;
    await stop(first);

    const { request } = await start();
    await request("POST", "/sandbox/clock/advance", { body: { seconds: 0 } });
    const { items: deliveries } = (await request("GET", `/sandbox/deliveries?reference=${reference}`)).body.data;
    expect(deliveries).toMatchObject([{ status: "delivered" }]);
    expect(receiver.received).toHaveLength(deliveries[0].attempts.length);
    await receiver.close();
  });

  test("a second signal stops the server immediately", async () => {
    const server = await start();
    const endless = connect(server.port, "127.0.0.1");
    endless.write(`POST /v1/disbursements HTTP/1.1\r\nHost: a\r\nx-api-key: ${KEY}\r\nContent-Length: 9\r\n\r\n{`);
    await statusOf(server);
    // The first signal would wait for this request.
    server.kill("SIGTERM");
    server.kill("SIGINT");
    const [{ code }] = await Promise.all([server.ended, once(endless, "close")]);
    expect(code).toBe(null);
  });
});
