// Restarts real processes on one PostgreSQL database, one after the other, while payouts are created.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createHttpClient } from "./testing/http.ts";
import { startLoadBalancer, type LoadBalancer } from "./testing/load-balancer.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "./testing/postgres.ts";
import type { ServerProcess } from "./testing/process.ts";
import { startReceiver, type Receiver } from "./testing/receiver.ts";
import { aPayout } from "./testing/server.ts";
import { testProcess } from "./testing/places.ts";

const KEY = "a-key-for-tests-of-restarts";
const CALLERS = 3;
/** The limit of outstanding webhooks, so that the load is the same on machines of any speed. */
const OUTSTANDING = 4;
/** Requests are sent one after another during the restart, so that the starting processes have the processor. */
const PAUSE_MS = 10;
const PAYOUTS_PER_STEP = 20;
/** A machine that is too busy refuses payouts without a restart too. The refusal promises that nothing was recorded. */
const OVERLOADED = /overloaded\. Nothing was recorded/;

let database: TestDatabase;
let receiver: Receiver;
let balancer: LoadBalancer;
let running: ServerProcess[];

beforeEach(async () => {
  running = [];
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  receiver = await startReceiver();
  balancer = await startLoadBalancer();
});
afterEach(async () => {
  await balancer.close();
  await receiver.close();
  await database.drop();
});

async function start(): Promise<ServerProcess> {
  const server = await testProcess({
    DATABASE_URL: database.url,
    SANDBOX_API_KEY: KEY,
    SETTLE_DELAY_MS: "20",
    LOG_LEVEL: "error",
    DRAIN_DELAY_MS: "1500",
    SHUTDOWN_TIMEOUT_MS: "15000",
  });
  running.push(server);
  await balancer.add(server.port);
  return server;
}

/**
 * Creates payouts until the returned `end` is called. Two of three payouts are final immediately, and a worker settles
 * the third payout.
 */
function startLoad() {
  const { request, close } = createHttpClient({ port: balancer.port, key: KEY, sandbox: true });
  let sent = 0;
  const failures: string[] = [];
  const created: string[] = [];
  let isEnded = false;
  async function call(index: number) {
    for (let round = 0; !isEnded; round += 1) {
      const phoneNumber = (index + round) % 3 === 0 ? "2257038102473" : "2257038102001";
      const body = aPayout({ phoneNumber, webhookURL: receiver.url });
      sent += 1;
      const response = await request("POST", "/v1/disbursements", { body }).catch(() => undefined);
      if (response?.status === 200) created.push(response.body.data.reference);
      else if (OVERLOADED.test(response?.body?.message)) sent -= 1;
      else failures.push(response ? `${response.status} ${response.body?.message}` : "no response");
      await receiver.until(sent - OUTSTANDING);
      await sleep(PAUSE_MS);
    }
  }
  const calling = Promise.all(Array.from({ length: CALLERS }, (_, index) => call(index)));
  return {
    failures,
    created,
    async progress() {
      const goal = created.length + PAYOUTS_PER_STEP;
      while (created.length < goal && failures.length === 0) await sleep(5);
    },
    async end() {
      isEnded = true;
      await calling;
      await close();
    },
  };
}

test(
  "a rolling restart fails no request, pays nothing twice and makes each attempt once",
  { timeout: 300_000 },
  async () => {
    const old = await Promise.all([start(), start(), start()]);
    const load = startLoad();
    await load.progress();
    for (const { kill, ended, port } of old) {
      kill("SIGTERM");
      expect(await ended).toMatchObject({ code: 0, stderr: "" });
      balancer.remove(port);
      await start();
      await load.progress();
    }
    await load.end();
    const { failures, created } = load;
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
  },
);
