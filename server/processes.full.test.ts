// A process starts and stops, alone and beside others on one PostgreSQL database.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createHttpClient } from "./testing/http.ts";
import { startPostgresProxy } from "./testing/postgres-proxy.ts";
import { KEY, launchServer, runKeys, runServer, type ServerProcess } from "./testing/process.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startReceiver } from "./testing/receiver.ts";
import { aPayout } from "./testing/server.ts";
import { stop, testFolder, startTestServer, useDatabase } from "./testing/resources.ts";
import { concurrently } from "./testing/storage/fixtures.ts";

const statusOf = async ({ request }: Pick<ServerProcess, "request">, path = "/sandbox/clock") =>
  (await request("GET", path)).status;
async function aReceiver() {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  return receiver;
}
const referencesAt = ({ received }: Awaited<ReturnType<typeof aReceiver>>) =>
  received.map(({ body }) => body.data.reference as string).toSorted();

const database = useDatabase();
/** The address of the database with changes. */
const changed = (changes: Partial<URL>) => Object.assign(new URL(database.url), changes).href;

test.each<[what: string, changes: () => NodeJS.ProcessEnv, message: RegExp]>([
  [
    "a host of another machine",
    () => ({ HOST: "192.0.2.1", DATABASE_URL: "sqlite::memory:" }),
    /^Cannot listen on 192\.0\.2\.1:0: .+ Check HOST and PORT\.\n$/,
  ],
  [
    "a wrong password",
    () => ({ DATABASE_URL: changed({ password: "hunter2" }) }),
    /password authentication failed.* Check DATABASE_URL\.\n$/,
  ],
  [
    "a database that does not exist",
    () => ({ DATABASE_URL: changed({ pathname: "/absent" }) }),
    /database "absent" does not exist\. Check DATABASE_URL\.\n$/,
  ],
  [
    // A label of 64 characters is refused without asking a resolver, because a machine without a network has no resolver.
    "a host that does not exist",
    () => ({ DATABASE_URL: changed({ hostname: `${"x".repeat(64)}.invalid` }) }),
    /ENOTFOUND x{64}\.invalid\. Check DATABASE_URL\.\n$/,
  ],
])("%s ends the start at once, and no password is shown", async (_, changes, message) => {
  const env = changes();
  const { code, stderr } = await runServer(env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(stderr).not.toContain(new URL(env.DATABASE_URL!).password || "hunter2");
});

describe("one process on SQLite", () => {
  let data: string;
  let env: { DATABASE_URL: string };
  beforeEach(() => {
    data = join(testFolder(), "data");
    env = { DATABASE_URL: `sqlite:${join(data, "server.db")}` };
  });
  const start = (changes: NodeJS.ProcessEnv = {}) => startTestServer({ ...env, ...changes });

  test("webhook secrets are in no file once there is a key for them, and without it the server does not start again", async () => {
    const file = join(testFolder(), "secrets.key");
    writeFileSync(file, `${Buffer.alloc(32, 7).toString("base64")}\n`);
    const plain = await start();
    const merchant = / id: (\S+),/.exec((await runKeys(env, "merchants")).stdout)![1]!;
    const secret = async (changes = {}) => (await runKeys({ ...env, ...changes }, "secret", merchant)).stdout;
    const before = await secret();
    await stop(plain);
    const contents = () => readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"));
    expect(contents().join()).toContain(/whsec_\S+/.exec(before)![0]);

    const keyed = { SECRETS_KEY_FILE: file };
    await stop(await start(keyed));
    expect(contents().join()).not.toContain("whsec_");
    expect(await secret(keyed)).toBe(before);
    for (const { code, stderr } of [await runServer(env), await runKeys(env, "secret", merchant)]) {
      expect([1, 2]).toContain(code);
      expect(stderr).toMatch(/^The webhook secrets .+ SECRETS_KEY_FILE /);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
  });

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

  test("SANDBOX_API_KEY is valid from the first request on, even a later value, and never printed", async () => {
    for (const SANDBOX_API_KEY of [KEY, `${KEY}-another`]) {
      const port = await reservePort();
      const starting = start({ SANDBOX_API_KEY, LOG_LEVEL: "trace", PORT: String(port) });
      const headers = { "x-api-key": SANDBOX_API_KEY };
      let first: Response | undefined;
      while (!first) first = await fetch(`http://127.0.0.1:${port}/sandbox/clock`, { headers }).catch(() => undefined);
      const server = await starting;
      expect([first.status, await statusOf(server.client(KEY))]).toEqual([200, 200]);
      const { stdout, stderr } = await stop(server);
      expect(stdout + stderr).toContain('"route":"/sandbox/clock"');
      expect(stdout + stderr).not.toContain(SANDBOX_API_KEY);
    }
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

  test("stops despite a caller that keeps sending requests on one connection", async () => {
    const server = await start();
    const statuses: number[] = [];
    const asking = (async () => {
      for (;;) statuses.push(await statusOf(server));
    })().catch(() => undefined);
    await statusOf(server, "/healthz");
    await stop(server);
    await asking;
    expect(new Set(statuses)).toEqual(new Set([200]));
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
    expect(code).toBe("SIGKILL");
  });
});

describe("processes on PostgreSQL", () => {
  let env: NodeJS.ProcessEnv;
  beforeEach(async () => {
    await database.empty();
    env = { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "50" };
  });
  const start = (changes: NodeJS.ProcessEnv = {}) => startTestServer({ ...env, ...changes });

  test("two first starts make one merchant; each process sees what the other does", async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { stdout } = await runKeys(env, "merchants", "--json");
    expect(JSON.parse(stdout).items).toHaveLength(1);

    const receiver = await aReceiver();
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        [first, second][index % 2]!.createPayout({ reference: `payout ${index}`, webhookURL: receiver.url }),
      ),
    );
    expect(created.map(({ status }) => status)).toEqual(created.map(() => 200));
    const references = created.map(({ body }) => body.data.reference as string);
    expect(await statusOf(second, `/v1/disbursements/${references[0]}`)).toBe(200);
    expect((await second.createPayout({ reference: "payout 0" })).status).toBe(409);
    await receiver.until(references.length);
    expect(referencesAt(receiver)).toEqual(references.toSorted());

    const moved = await first.request("POST", "/sandbox/clock/advance", { body: { seconds: 86_400 } });
    const { body } = await second.request("GET", "/sandbox/clock");
    // A process knows the database's clock to within the time of a round trip.
    expect(Date.parse(body.data.now)).toBeGreaterThan(Date.parse(moved.body.data.now) - 1_000);
    const [, keyId] = / id: (\S+),/.exec((await runKeys(env, "list")).stdout)!;
    expect((await runKeys(env, "revoke", keyId!)).code).toBe(0);
    for (const process of [first, second]) expect(await statusOf(process, "/v1/disbursements/DSB1")).toBe(401);
  });

  test("a worker does what a process for requests leaves to it", async () => {
    const [api, worker] = await Promise.all([start({ ROLE: "api" }), start({ ROLE: "worker" })]);
    expect([await statusOf(worker, "/readyz"), await statusOf(worker, "/v1/disbursements/DSB1")]).toEqual([200, 404]);
    const receiver = await aReceiver();
    const { body } = await api.createPayout({ webhookURL: receiver.url });
    await receiver.until(1);
    expect(receiver.received[0]!.body.data).toMatchObject({ reference: body.data.reference, status: "success" });
  });

  test("a start waits for the database, says so without the password, and ends on a signal; a command does not wait", async () => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(proxy.close);
    await proxy.refuse();
    const away = { ...env, DATABASE_URL: proxy.url };
    const port = await reservePort();
    const [server, other] = [launchServer({ ...away, PORT: String(port) }), launchServer(away)];
    const attempts = () => server.output().match(/Cannot open the PostgreSQL database: [^"]*/g) ?? [];
    await expect.poll(() => attempts().length).toBeGreaterThan(1);
    expect(attempts()[0]).toMatch(
      /ECONNREFUSED.*\. Check DATABASE_URL\. The start waits for the database and tries again in 0\.5 s\./,
    );
    expect(attempts()[1]).toMatch(/in 1 s\./);
    expect(server.output()).not.toContain(new URL(proxy.url).password);
    const refusal = expect.stringMatching(/^Cannot open .*ECONNREFUSED.*\. Check DATABASE_URL\.\n$/);
    expect(await runKeys(away, "list")).toEqual({ code: 2, stdout: "", stderr: refusal });
    await expect.poll(other.output).toContain("The start waits for the database");
    other.kill("SIGTERM");
    expect((await other.ended).code).toBe(0);

    await proxy.restore();
    await expect.poll(server.output).toContain("curl ");
    const { createPayout, close } = createHttpClient({ port, key: KEY, sandbox: true });
    expect((await createPayout()).status).toBe(200);
    await close();
    server.kill("SIGTERM");
    await server.ended;
  });

  /** The limit of outstanding webhooks, so that the load is the same on machines of any speed. */
  const OUTSTANDING = 4;
  /** The pause of each caller between two requests, so that the starting processes get processor time. */
  const PAUSE_MS = 10;
  const PAYOUTS_PER_STEP = 20;
  /** A machine that is too busy refuses payouts without a restart too. The refusal promises that nothing was recorded. */
  const OVERLOADED = /overloaded\. Nothing was recorded/;

  test("a rolling restart fails no request, pays nothing twice and makes each attempt once", async () => {
    const receiver = await aReceiver();
    const failures: string[] = [];
    const created: string[] = [];
    let sent = 0;
    let isEnded = false;
    const running: ServerProcess[] = [];
    /** The servers that a load balancer uses, which asks each of them every tenth of a second, and never retries. */
    let ready: ServerProcess[] = [];
    const isReady = async (server: ServerProcess) => (await statusOf(server, "/readyz").catch(() => 0)) === 200;
    const polling = async () => {
      for (; !isEnded; await sleep(100)) {
        const found = await Promise.all(running.map(isReady));
        ready = running.filter((_, index) => found[index]);
      }
    };
    async function startNext() {
      const drain = { DRAIN_DELAY_MS: "1500", SHUTDOWN_TIMEOUT_MS: "15000" };
      const server = await start({ SETTLE_DELAY_MS: "20", LOG_LEVEL: "error", ...drain });
      running.push(server);
      await expect.poll(() => ready).toContain(server);
      return server;
    }
    const polled = polling();
    const old = await Promise.all([startNext(), startNext(), startNext()]);

    // Two of three payouts are final immediately, and a worker settles the third payout.
    const calling = concurrently(3, async (index) => {
      for (let round = 0; !isEnded; round += 1) {
        const phoneNumber = (index + round) % 3 === 0 ? "2257038102473" : "2257038102001";
        const { createPayout } = ready[sent % ready.length]!;
        sent += 1;
        const response = await createPayout({ phoneNumber, webhookURL: receiver.url }).catch(() => undefined);
        if (response?.status === 200) created.push(response.body.data.reference);
        else if (OVERLOADED.test(response?.body?.message)) sent -= 1;
        else failures.push(response ? `${response.status} ${response.body?.message}` : "no response");
        await receiver.until(sent - OUTSTANDING);
        await sleep(PAUSE_MS);
      }
    });
    async function progress() {
      const goal = created.length + PAYOUTS_PER_STEP;
      while (created.length < goal && failures.length === 0) await sleep(5);
    }
    await progress();
    for (const { kill, ended } of old) {
      kill("SIGTERM");
      expect(await ended).toMatchObject({ code: 0, stderr: "" });
      await startNext();
      await progress();
    }
    isEnded = true;
    await Promise.all([calling, polled]);
    const printed = failures.length > 0 ? running.map(({ output }) => output()) : [];
    expect([...failures, ...printed]).toEqual([]);

    await receiver.until(created.length);
    expect(referencesAt(receiver)).toEqual(created.toSorted());
    const stored = await database.run("SELECT reference FROM disbursements");
    expect(stored.map(({ reference }) => reference as string).toSorted()).toEqual(created.toSorted());
    const attempts = () =>
      database.run(
        "SELECT sum(json_array_length(attempts::json))::int AS all, count(attempted_real)::int AS events FROM events",
      );
    await expect.poll(attempts).toEqual([{ all: created.length, events: created.length }]);
  });
});
