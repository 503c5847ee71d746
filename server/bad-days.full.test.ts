// Runs the real process while its disk, its database, its log or its callers misbehave.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, linkSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createLog } from "./log.ts";
import { fillLog } from "./testing/http.ts";
import { startOwnPostgres } from "./testing/own-postgres.ts";
import { stop, testDatabase, testFolder, startTestServer } from "./testing/resources.ts";
import { startPostgresProxy } from "./testing/postgres-proxy.ts";
import { KEY, LIVE, runServer, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { mountSmallDisk } from "./testing/small-disk.ts";
import { concurrently } from "./testing/storage/fixtures.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";

const probes = async ({ request }: ServerProcess) =>
  Promise.all(["/readyz", "/healthz"].map(async (path) => (await request("GET", path)).status));

describe("its disk", () => {
  let folder: string;
  let file: string;
  let env: { DATABASE_URL: string; LOG_LEVEL: string };
  beforeEach(() => {
    folder = testFolder();
    file = join(folder, "data", "server.db");
    env = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: "error" };
  });

  const find = ({ request }: ServerProcess, reference: string) => request("GET", `/v1/disbursements/${reference}`);

  /** Creates payouts until one is refused, for this reason. Returns those that were acknowledged. */
  async function createUntilRefused(server: ServerProcess, message: RegExp): Promise<string[]> {
    const acknowledged: string[] = [];
    for (;;) {
      const { status, headers, body } = await server.createPayout();
      if (status !== 200) {
        const refusal = { code: "unavailable", message: expect.stringMatching(message) };
        expect([status, headers["retry-after"], body]).toEqual([503, "5", expect.objectContaining(refusal)]);
        return acknowledged;
      }
      acknowledged.push(body.data.reference);
    }
  }

  test("a disk that refuses writes: creates get 503, the log stays short, and nothing acknowledged is lost", async () => {
    const server = await startTestServer(env, { fileBlocks: 1_600 });
    const acknowledged = await createUntilRefused(
      server,
      /cannot be written. Its disk may be full, read-only or broken/,
    );
    expect(acknowledged.length).toBeGreaterThan(5);
    for (let count = 0; count < 50; count += 1) expect((await server.createPayout()).status).toBe(503);
    expect(await probes(server)).toEqual([503, 200]);
    expect((await find(server, acknowledged[0]!)).status).toBe(200);
    await stop(server);
    expect(server.output().length).toBeLessThan(20_000);

    const next = await startTestServer(env);
    for (const reference of acknowledged) expect((await find(next, reference)).status).toBe(200);
    expect([(await next.createPayout()).status, ...(await probes(next))]).toEqual([200, 200, 200]);
  });

  test("a disk that is full: creates get 503, reads go on, and creates work again when there is space", async ({
    skip,
  }) => {
    const disk = mountSmallDisk() ?? skip("mounting a disk needs Linux and root");
    onTestFinished(disk.close);
    const onDisk = join(disk.folder, "data", "server.db");
    const server = await startTestServer({ ...env, DATABASE_URL: `sqlite:${onDisk}` });
    const before = (await server.createPayout()).body.data.reference;
    disk.fill();
    const acknowledged = [before, ...(await createUntilRefused(server, /storage is full/))];
    expect(await probes(server)).toEqual([503, 200]);
    expect((await find(server, before)).status).toBe(200);
    disk.empty();
    acknowledged.push((await server.createPayout()).body.data.reference);
    await expect.poll(() => probes(server)).toEqual([200, 200]);
    await stop(server);
    using db = new DatabaseSync(onDisk, { readOnly: true });
    expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const stored = db.prepare("SELECT reference FROM disbursements").all();
    expect(stored.map(({ reference }) => reference).toSorted()).toEqual(acknowledged.toSorted());
  });

  test.each([8, 200])("a start on a disk with room for %i blocks says that the disk is full", async (fileBlocks) => {
    const { code, stderr } = await runServer(env, { fileBlocks });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Cannot open the database .+: disk I\/O error\. Its disk may be full, read-only or broken: free space or repair it, then start again\.\n$/,
    );
  });

  test("a damaged index: creates get 503 until a restart, and the server is not ready", async () => {
    await stop(await startTestServer(env));
    const db = new DatabaseSync(file);
    const pages = db.prepare("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'disbursements'");
    const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
    const roots = pages.all().map(({ rootpage }) => Number(rootpage));
    db.close();
    const bytes = openSync(file, "r+");
    for (const page of roots) writeSync(bytes, Buffer.alloc(size, 7), 0, size, (page - 1) * size);
    closeSync(bytes);
    const server = await startTestServer(env);
    expect(await createUntilRefused(server, /database is damaged/)).toEqual([]);
    expect(await probes(server)).toEqual([503, 200]);
  });

  test("a second server is refused a hard link to the database", async () => {
    await startTestServer(env);
    const link = join(folder, "link.db");
    linkSync(file, link);
    const { code, stderr } = await runServer({ ...env, DATABASE_URL: `sqlite:${link}` });
    expect([code, stderr]).toEqual([1, `${link} has another hard link. Remove one of the names, then start again.\n`]);
  });
});

describe("its database", () => {
  const CALLERS = 60;
  /** The limit for the storage's part of a request, and a margin for a busy machine. The client's time-out is 15 seconds. */
  const LONGEST_MS = 12_000;

  async function create({ createPayout }: ServerProcess, sent = aPayout()) {
    const begun = performance.now();
    return { ...(await createPayout(sent)), sent, tookMs: performance.now() - begun };
  }

  test("a frozen database refuses creates in time, loses none and is used again when it reacts", async () => {
    const postgres = await startOwnPostgres();
    onTestFinished(postgres.close);
    const server = await startTestServer({ DATABASE_URL: postgres.url });
    const results: Awaited<ReturnType<typeof create>>[] = [];
    let isEnded = false;
    const calling = concurrently(CALLERS, async () => {
      while (!isEnded) results.push(await create(server));
    });
    const of = (...statuses: number[]) => results.filter(({ status }) => statuses.includes(status));
    await expect.poll(() => of(200).length).toBeGreaterThan(CALLERS);
    await postgres.freeze();
    // Every caller has been refused, and is waiting again.
    await expect.poll(() => of(503, 500).length).toBeGreaterThan(2 * CALLERS);
    expect(await probes(server)).toEqual([503, 200]);
    const before = of(200).length;
    postgres.thaw();
    await expect.poll(() => of(200).length).toBeGreaterThan(before);
    isEnded = true;
    await calling;

    // Ten seconds, and a margin for a very busy machine.
    expect(Math.max(...results.map(({ tookMs }) => tookMs))).toBeLessThan(25_000);
    expect(of(200, 500, 503)).toHaveLength(results.length);
    for (const { body, headers } of of(503))
      expect([body.code, Number(headers["retry-after"]) > 0]).toEqual(["unavailable", true]);
    const rows = await postgres.run("SELECT merchants_reference FROM disbursements");
    const stored = new Set(rows.map((row) => row.merchants_reference));
    expect(of(200).filter(({ sent }) => !stored.has(sent.reference))).toEqual([]);
    expect(of(503).filter(({ sent }) => stored.has(sent.reference))).toEqual([]);
    // 500 means that the outcome is unknown. A repeated request shows the outcome: 200 if the payout was not recorded,
    // otherwise 409.
    for (const { sent } of of(500)) {
      const again = await server.createPayout(sent);
      expect(again.status).toBe(stored.has(sent.reference) ? 409 : 200);
      if (again.status === 409) expect((await server.request("GET", again.headers.location!)).status).toBe(200);
    }
    await expect.poll(() => probes(server)).toEqual([200, 200]);
  });

  async function startBehindProxy() {
    const database = await testDatabase();
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(proxy.close);
    return {
      database,
      proxy,
      server: await startTestServer({ DATABASE_URL: proxy.url, RATE_LIMIT: "1000", ROLE: "api" }),
    };
  }

  test("a create of many operations on a slow database ends in time, and what it says of its outcome is true", async () => {
    const { database, proxy, server } = await startBehindProxy();
    // The sandbox refuses the first two attempts with this number, so the storage counts each attempt.
    const sent = aPayout({ phoneNumber: "2257038102503" });
    for (let attempt = 0; attempt < 2; attempt += 1) expect((await create(server, sent)).status).toBe(503);
    proxy.delayMs = 1_500;
    const slow = await create(server, sent);
    proxy.delayMs = 0;
    expect(slow.tookMs).toBeLessThan(LONGEST_MS);
    expect(slow).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(await database.run("SELECT reference FROM disbursements")).toEqual([]);
    expect((await create(server, sent)).status).toBe(200);
  });

  test("connections that the network has forgotten delay creates once, and not for long", async () => {
    const { proxy, server } = await startBehindProxy();
    const warm = await concurrently(40, () => create(server));
    expect(new Set(warm.map(({ status }) => status))).toEqual(new Set([200]));
    proxy.forget();
    const first = await create(server);
    expect(first.tookMs).toBeLessThan(LONGEST_MS);
    expect([200, 503]).toContain(first.status);
    const again = await create(server, first.sent);
    expect(again.status).toBe(first.status === 200 ? 409 : 200);
    expect(again.tookMs).toBeLessThan(4_000);
  });
});

describe("its callers", () => {
  const FORM = "content-type: application/x-www-form-urlencoded\r\n";
  /** A request that never ends. */
  const slow = (path: string, fields = "") =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\n${fields}content-length: 1000\r\n\r\na`;

  const STRANGERS = 300;
  /** What each stranger sends. @param page the path of a payment page */
  type Sends = (server: ServerProcess, page: string) => string;
  type Crowd = [what: string, openFiles: number, sends: Sends, env?: NodeJS.ProcessEnv];

  test.runIf(process.platform === "linux").each<Crowd>([
    ["idle connections", 64, () => ""],
    ["slow forms to sign in", 256, ({ url }) => slow("/dashboard/sign-in", `${FORM}origin: ${url}\r\n`)],
    ["slow forms to a payment page", 256, (_, page) => slow(page, FORM)],
    ["slow notifications of a rail", 256, () => slow("/rails/test/webhooks"), LIVE],
    ["slow payouts with a key", 1_024, () => slow("/v1/disbursements", `x-api-key: ${KEY}\r\n`)],
  ])("%s keep no merchant out, and leave nothing behind", async (_, openFiles, sends, env) => {
    const server = await startTestServer(env, { openFiles });
    const handles = () => readdirSync(`/proc/${server.pid}/fd`).length;
    // Opened once before open files are counted, so that nothing that it keeps open counts as left behind.
    const page = async () => (await server.createCheckout({}, { headers: { connection: "close" } })).body.data.url;
    const bytes = sends(server, new URL(await page()).pathname);
    const before = handles();
    const sockets: Socket[] = [];
    for (let count = 0; count < STRANGERS; count += 1) {
      const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
      sockets.push(socket);
      await once(socket, "connect");
      socket.write(bytes);
    }
    for (let count = 0; count < 20; count += 1)
      expect((await server.createPayout({}, { headers: { connection: "close" } })).status).toBe(200);
    if (!env) expect((await fetch(await page(), { headers: { connection: "close" } })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(handles).toBeLessThanOrEqual(before + 20);
  });
});

describe("its log", () => {
  /** Starts the server with this standard output. Its banner cannot be read, so the test asks until it responds. */
  async function startLogging(stdout: number | "pipe") {
    const port = await reservePort();
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const settings = { DATABASE_URL: "sqlite::memory:", PORT: String(port), SANDBOX_API_KEY: KEY };
    const server = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...settings },
      stdio: ["ignore", stdout, "inherit"],
    });
    onTestFinished(() => void server.kill("SIGKILL"));
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
      if (response?.ok) return { server, port };
      if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode}`);
    }
  }

  test.each(["is on a full disk", "is not read", "has lost its reader"])(
    "the server runs and stops if its log %s",
    async (what) => {
      const output = what === "is on a full disk" ? openSync("/dev/full", "w") : "pipe";
      const { server, port } = await startLogging(output);
      if (output !== "pipe") closeSync(output);
      if (what === "has lost its reader") server.stdout!.destroy();
      await fillLog(port);
      server.kill("SIGTERM");
      expect(await once(server, "exit")).toEqual([0, null]);
    },
  );

  test("a log that can be written again says how many lines were dropped", async () => {
    const { server, port } = await startLogging("pipe");
    await fillLog(port);
    let output = "";
    for await (const chunk of server.stdout!) {
      output += String(chunk);
      if (/"dropped":[1-9]\d*,"msg":"log lines were dropped/.test(output)) break;
    }
    expect(output).toContain("log lines were dropped");
  });

  test("shows no phone number that an error or a refused address contains", async () => {
    const path = join(testFolder(), "log");
    const fd = openSync(path, "w");
    const { log, flush } = createLog("info", fd);
    const context = { phone: 2_257_038_102_473, numbers: ["2257038102473"], deep: { key: "+225 70 38 10 24 73" } };
    const error = Object.assign(new Error("invalid input: 2257038102473"), context, {
      cause: new Error("2257038102473"),
    });
    Object.assign(error, { itself: error });
    log.error({ err: error, status: 500 }, "unexpected error");
    log.warn({ detail: "2257038102473.example resolves to 10.0.0.5" }, "a webhook was refused");
    await flush(1_000);
    closeSync(fd);
    const lines = readFileSync(path, "utf8");
    expect(lines).not.toMatch(/70381024|70 38 10 24/);
    expect(lines).toContain("invalid input: …473");
    expect(lines).toContain("…473.example resolves to 10.0.0.5");
    expect(lines).toMatch(/"time":\d{13},.*"status":500/);
  });
});
