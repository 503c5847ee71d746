// Runs several real processes on one PostgreSQL database.
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createHttpClient } from "./testing/http.ts";
import { startLoadBalancer } from "./testing/load-balancer.ts";
import { startPostgresProxy } from "./testing/postgres-proxy.ts";
import { KEY, launchServer, runKeys, runServer, type ServerProcess } from "./testing/process.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startReceiver } from "./testing/receiver.ts";
import { testProcess, useDatabase } from "./testing/places.ts";
import { concurrently } from "./testing/storage/fixtures.ts";

const database = useDatabase();
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  await database.empty();
  env = { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "50" };
});
const start = (changes: NodeJS.ProcessEnv = {}) => testProcess({ ...env, ...changes });
/** The address of a database where none is. */
const absent = async () => `postgres://ada:hunter2@127.0.0.1:${await reservePort()}/pay`;

test("two first starts make one merchant; each process sees what the other does", async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const { stdout } = await runKeys(env, "merchants", "--json");
  expect(JSON.parse(stdout).items).toHaveLength(1);

  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const created = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      [first, second][index % 2]!.createPayout({ reference: `payout ${index}`, webhookURL: receiver.url }),
    ),
  );
  expect(created.map(({ status }) => status)).toEqual(created.map(() => 200));
  const references = created.map(({ body }) => body.data.reference as string);
  expect((await second.request("GET", `/v1/disbursements/${references[0]}`)).status).toBe(200);
  expect((await second.createPayout({ reference: "payout 0" })).status).toBe(409);
  await receiver.until(references.length);
  expect(receiver.received.map(({ body }) => body.data.reference).toSorted()).toEqual(references.toSorted());
});

test("a moved clock and a revoked key take effect in every process", async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const moved = await first.request("POST", "/sandbox/clock/advance", { body: { seconds: 86_400 } });
  const { body } = await second.request("GET", "/sandbox/clock");
  expect(Date.parse(body.data.now)).toBeGreaterThanOrEqual(Date.parse(moved.body.data.now));

  const [, keyId] = / id: (\S+),/.exec((await runKeys(env, "list")).stdout)!;
  expect((await runKeys(env, "revoke", keyId!)).code).toBe(0);
  for (const { request } of [first, second]) expect((await request("GET", "/v1/disbursements/DSB1")).status).toBe(401);
});

test("a worker does what a process for requests leaves to it", async () => {
  const [api, worker] = await Promise.all([start({ ROLE: "api" }), start({ ROLE: "worker" })]);
  expect((await worker.request("GET", "/readyz")).status).toBe(200);
  expect((await worker.request("GET", "/v1/disbursements/DSB1")).status).toBe(404);
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const { body } = await api.createPayout({ webhookURL: receiver.url });
  await receiver.until(1);
  expect(receiver.received[0]!.body.data).toMatchObject({ reference: body.data.reference, status: "success" });
});

test("a start without the database waits for it, says so without the password, and ends on a signal", async () => {
  const waiting = launchServer({ ...env, DATABASE_URL: await absent() });
  const attempts = () => waiting.output().match(/Cannot open the PostgreSQL database: [^"]*/g) ?? [];
  await expect.poll(() => attempts().length).toBeGreaterThan(1);
  waiting.kill("SIGTERM");
  expect((await waiting.ended).code).toBe(0);
  expect(attempts()[0]).toMatch(
    /ECONNREFUSED.*\. Check DATABASE_URL\. The start waits for the database and tries again in 0\.5 s\./,
  );
  expect(attempts()[1]).toMatch(/in 1 s\./);
  expect(waiting.output()).not.toContain("hunter2");
});

test("a start that waited serves requests when the database is there", async () => {
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(proxy.close);
  await proxy.refuse();
  const port = await reservePort();
  const server = launchServer({ ...env, DATABASE_URL: proxy.url, PORT: String(port) });
  await expect.poll(server.output).toContain("The start waits for the database");
  await proxy.restore();
  await expect.poll(server.output).toContain("curl ");
  const { createPayout, close } = createHttpClient({ port, key: KEY, sandbox: true });
  expect((await createPayout()).status).toBe(200);
  await close();
  server.kill("SIGTERM");
  await server.ended;
});

test.each([
  ["a wrong password", { password: "hunter2" }, /password authentication failed.* Check DATABASE_URL\.\n$/],
  [
    "a database that does not exist",
    { pathname: "/absent" },
    /database "absent" does not exist\. Check DATABASE_URL\.\n$/,
  ],
  [
    "a host that does not exist",
    // A label of 64 characters is refused without asking a resolver, because a machine without a network has no
    // resolver.
    { hostname: `${"x".repeat(64)}.invalid` },
    /ENOTFOUND x{64}\.invalid\. Check DATABASE_URL\.\n$/,
  ],
])("%s ends the start at once, and the password is not shown", async (_, changes, message) => {
  const DATABASE_URL = Object.assign(new URL(database.url), changes).href;
  const { code, stderr } = await runServer({ ...env, DATABASE_URL });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(stderr).not.toContain(new URL(DATABASE_URL).password);
});

test("a command does not wait for the database", async () => {
  const { code, stderr } = await runKeys({ ...env, DATABASE_URL: await absent() }, "list");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/^Cannot open the PostgreSQL database: .*ECONNREFUSED.*\. Check DATABASE_URL\.\n$/);
});

/** The limit of outstanding webhooks, so that the load is the same on machines of any speed. */
const OUTSTANDING = 4;
/** Requests are sent one after another during the restart, so that the starting processes have the processor. */
const PAUSE_MS = 10;
const PAYOUTS_PER_STEP = 20;
/** A machine that is too busy refuses payouts without a restart too. The refusal promises that nothing was recorded. */
const OVERLOADED = /overloaded\. Nothing was recorded/;

test("a rolling restart fails no request, pays nothing twice and makes each attempt once", async () => {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const balancer = await startLoadBalancer();
  onTestFinished(balancer.close);
  const running: ServerProcess[] = [];
  async function join() {
    const drain = { DRAIN_DELAY_MS: "1500", SHUTDOWN_TIMEOUT_MS: "15000" };
    const server = await start({ SETTLE_DELAY_MS: "20", LOG_LEVEL: "error", ...drain });
    running.push(server);
    await balancer.add(server.port);
    return server;
  }
  const old = await Promise.all([join(), join(), join()]);

  const { createPayout, close } = createHttpClient({ port: balancer.port, key: KEY, sandbox: true });
  onTestFinished(close);
  const failures: string[] = [];
  const created: string[] = [];
  let sent = 0;
  let isEnded = false;
  // Two of three payouts are final immediately, and a worker settles the third payout.
  const calling = concurrently(3, async (index) => {
    for (let round = 0; !isEnded; round += 1) {
      const phoneNumber = (index + round) % 3 === 0 ? "2257038102473" : "2257038102001";
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
  for (const { kill, ended, port } of old) {
    kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
    balancer.remove(port);
    await join();
    await progress();
  }
  isEnded = true;
  await calling;
  const printed = failures.length > 0 ? running.map(({ output }) => output()) : [];
  expect([...failures, ...printed]).toEqual([]);

  await receiver.until(created.length);
  const delivered = receiver.received.map(({ body }) => body.data.reference as string);
  expect(delivered.toSorted()).toEqual(created.toSorted());
  const stored = await database.run("SELECT reference FROM disbursements");
  expect(stored.map(({ reference }) => reference as string).toSorted()).toEqual(created.toSorted());
  const attempts = () =>
    database.run("SELECT count(*)::int AS all, count(DISTINCT event_id)::int AS events FROM attempts");
  await expect.poll(attempts).toEqual([{ all: created.length, events: created.length }]);
});
