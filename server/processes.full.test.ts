// Runs several real processes on one PostgreSQL database.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createHttpClient } from "./testing/http.ts";
import { startPostgresProxy } from "./testing/postgres-proxy.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "./testing/postgres.ts";
import { launchServer, runKeys, runServer } from "./testing/process.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startReceiver } from "./testing/receiver.ts";
import { aPayout } from "./testing/server.ts";
import { testProcess } from "./testing/places.ts";

const KEY = "a-key-for-tests-of-processes";
let database: TestDatabase;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.empty();
  env = { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "50" };
});

async function start(changes: NodeJS.ProcessEnv = {}) {
  const server = await testProcess({ ...env, ...changes });
  return { ...server, ...server.client(KEY) };
}

test("two first starts make one merchant; each process sees what the other does", async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const { stdout } = await runKeys(env, "merchants", "--json");
  expect(JSON.parse(stdout).items).toHaveLength(1);

  const receiver = await startReceiver();
  const payouts = Array.from({ length: 20 }, () => aPayout({ webhookURL: receiver.url }));
  const created = await Promise.all(
    payouts.map((body, index) => [first, second][index % 2]!.request("POST", "/v1/disbursements", { body })),
  );
  expect(created.map(({ status }) => status)).toEqual(payouts.map(() => 200));
  const { reference } = created[0]!.body.data;
  expect((await second.request("GET", `/v1/disbursements/${reference}`)).status).toBe(200);
  expect((await second.request("POST", "/v1/disbursements", { body: payouts[0] })).status).toBe(409);

  await receiver.until(payouts.length);
  const delivered = receiver.received.map(({ body }) => body.data.reference);
  expect(delivered.toSorted()).toEqual(created.map(({ body }) => body.data.reference).toSorted());
  await receiver.close();
});

test("a moved clock and a revoked key take effect in every process", async () => {
  const [first, second] = await Promise.all([start(), start()]);
  const moved = await first.request("POST", "/sandbox/clock/advance", { body: { seconds: 86_400 } });
  expect(moved.status).toBe(200);
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
  const { body } = await api.request("POST", "/v1/disbursements", { body: aPayout({ webhookURL: receiver.url }) });
  await receiver.until(1);
  expect(receiver.received[0]!.body.data).toMatchObject({ reference: body.data.reference, status: "success" });
  await receiver.close();
});

test("while the database is away, requests get 503 with Retry-After; later the server works again", async () => {
  const proxy = await startPostgresProxy(database.url);
  const { request } = await start({ DATABASE_URL: proxy.url });
  const create = () => request("POST", "/v1/disbursements", { body: aPayout() });
  expect((await create()).status).toBe(200);
  await proxy.refuse();
  const refused = await create();
  expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } });
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect((await request("GET", "/readyz")).status).toBe(503);
  expect((await request("GET", "/healthz")).status).toBe(200);
  await proxy.restore();
  expect((await create()).status).toBe(200);
  await expect.poll(async () => (await request("GET", "/readyz")).status).toBe(200);
  await proxy.close();
});

test("a start without the database waits for it, says so without the password, and ends on a signal", async () => {
  const DATABASE_URL = `postgres://ada:hunter2@127.0.0.1:${await reservePort()}/pay`;
  const waiting = launchServer({ ...env, DATABASE_URL });
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
  await proxy.refuse();
  const port = await reservePort();
  const server = launchServer({ ...env, DATABASE_URL: proxy.url, PORT: String(port) });
  await expect.poll(server.output).toContain("The start waits for the database");
  await proxy.restore();
  await expect.poll(server.output).toContain("curl ");
  const { request, close } = createHttpClient({ port, key: KEY, sandbox: true });
  expect((await request("POST", "/v1/disbursements", { body: aPayout() })).status).toBe(200);
  await close();
  server.kill("SIGTERM");
  await server.ended;
  await proxy.close();
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
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain(new URL(DATABASE_URL).password);
});

test("a command does not wait for the database", async () => {
  const DATABASE_URL = `postgres://ada:hunter2@127.0.0.1:${await reservePort()}/pay`;
  const { code, stderr } = await runKeys({ ...env, DATABASE_URL }, "list");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/^Cannot open the PostgreSQL database: .*ECONNREFUSED.*\. Check DATABASE_URL\.\n$/);
});

/** The payouts of the race below. The limit permits half of them. `npm run faults -- funds` has longer races. */
const RACED = 400;

// `scripts/faults.full.test.ts` does the same on SQLite.
test("four processes accept exactly as many payouts of 64 callers as the limit of a day permits", async () => {
  const servers = await Promise.all(Array.from({ length: 4 }, () => start()));
  const [, keyId] = / id: (\S+),/.exec((await runKeys(env, "list")).stdout)!;
  const counts = new Map<string, number>();
  // A race that runs over midnight has two days, and is repeated.
  for (let day = -1; day !== new Date().getUTCDate();) {
    day = new Date().getUTCDate();
    counts.clear();
    await runKeys(env, "limit", keyId!, "--per-day", `XOF:${(RACED / 2) * 100}`);
    let next = 0;
    const call = async () => {
      while (next < RACED) {
        const body = aPayout({ amount: 100 });
        const { request } = servers[next++ % servers.length]!;
        const { status, body: sent } = await request("POST", "/v1/disbursements", { body });
        const result = `${status} ${sent.code ?? ""}`;
        counts.set(result, (counts.get(result) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 64 }, call));
  }
  expect(Object.fromEntries(counts)).toEqual({ "200 ": RACED / 2, "422 limit_exceeded": RACED / 2 });
}, 300_000);
