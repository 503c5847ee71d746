// Runs the storage and real processes through PgBouncer, where it is installed.
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test, type TestContext } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { pgbouncerIsMissing, startPgBouncer, type PgBouncer } from "../../testing/pgbouncer.ts";
import { useDatabase } from "../../testing/places.ts";
import { runServer, startProcess, type ServerProcess } from "../../testing/process.ts";
import { aPayout } from "../../testing/server.ts";
import { addMerchant, aDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

const KEY = "a-key-for-tests-of-pgbouncer";
const missing = pgbouncerIsMissing();
const database = useDatabase();
let bouncer: PgBouncer | undefined;
const running: ServerProcess[] = [];

beforeEach(({ skip }: TestContext) => void (missing && skip(missing)));
afterEach(async () => {
  for (const { kill, ended } of running.splice(0)) {
    kill("SIGKILL");
    await ended;
  }
  await bouncer?.close();
  bouncer = undefined;
});

describe.each(["session", "transaction"] as const)("in %s mode", (mode) => {
  beforeEach(async () => {
    await database.empty();
    bouncer = await startPgBouncer(database.url, mode);
  });

  test("two processes create and settle payouts, and no request fails", async () => {
    const env = { DATABASE_URL: bouncer!.url, SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "50" };
    running.push(...(await Promise.all([startProcess(env), startProcess(env)])));
    const clients = running.map(({ client }) => client(KEY));
    const statuses = new Set<number>();
    const created: string[] = [];
    await concurrently(24, async (index) => {
      const { request } = clients[index % 2]!;
      for (let round = 0; round < 10; round += 1) {
        const { status, body } = await request("POST", "/v1/disbursements", { body: aPayout() });
        statuses.add(status).add((await request("GET", "/v1/disbursements")).status);
        created.push(body.data?.reference);
      }
    });
    expect([...statuses]).toEqual([200]);
    const settled = "SELECT reference FROM disbursements WHERE status = 'success' ORDER BY reference";
    const references = async () => (await database.run(settled)).map(({ reference }) => reference);
    await expect.poll(references).toEqual(created.toSorted());
    for (const { request } of clients) expect((await request("GET", "/readyz")).status).toBe(200);
    await Promise.all(clients.map((client) => client.close()));
  });

  test("no setting of a transaction remains in a session that others use", async () => {
    const storage = await openPostgres(bouncer!.url, { clock: createFakeClock(), server: true });
    const { id } = await addMerchant(storage);
    await concurrently(20, () => storage.insertDisbursement(aDisbursement(id)));
    await storage.close();
    const clients = Array.from({ length: 6 }, () => new Client(bouncer!.url));
    // An open transaction keeps its session, so that each connection gets another one.
    for (const client of clients) {
      await client.connect();
      await client.query("BEGIN");
      const settings = await client.query("SELECT current_setting('statement_timeout') AS timeout");
      expect(settings.rows).toEqual([{ timeout: "0" }]);
      expect((await client.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
    }
    await Promise.all(clients.map((client) => client.end()));
  });
});

test.each([
  [
    "statement mode, which has no transactions,",
    { mode: "statement", pathname: undefined },
    /: PgBouncer runs in statement mode, which has no transactions\. Set its pool_mode to session or transaction\.\n$/,
  ],
  [
    "a database that PgBouncer does not know",
    { mode: "transaction", pathname: "/absent" },
    /: .*"?absent"? .*Check DATABASE_URL\.\n$/,
  ],
] as const)("%s ends the start with its name", async (_, { mode, pathname }, message) => {
  bouncer = await startPgBouncer(database.url, mode);
  const DATABASE_URL = Object.assign(new URL(bouncer.url), pathname && { pathname }).href;
  const { code, stderr } = await runServer({ DATABASE_URL, SANDBOX_API_KEY: KEY });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(stderr).toMatch(/^Cannot open the PostgreSQL database: /);
});
