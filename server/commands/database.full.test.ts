import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { openPostgres } from "../storage/postgres/index.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createTerminal } from "../testing/commands.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { startReceiver } from "../testing/receiver.ts";
import { aPayout } from "../testing/server.ts";
import { stop, testFolder, testProcess } from "../testing/places.ts";
import { addDelivery, addMerchant, aFinalDisbursement, claimAll, DAY } from "../testing/storage/fixtures.ts";

const KEY = "a-key-for-tests-of-the-database";
let path: string;
let sqlite: { DATABASE_URL: string };
let database: TestDatabase;
beforeEach(async () => {
  path = join(testFolder(), "server.db");
  sqlite = { DATABASE_URL: `sqlite:${path}` };
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterEach(() => database.drop());

const start = (env: NodeJS.ProcessEnv) => testProcess({ SANDBOX: "true", SANDBOX_API_KEY: KEY, ...env });

test("a service moves from SQLite to PostgreSQL", async () => {
  const receiver = await startReceiver();
  const before = await start({ ...sqlite, SETTLE_DELAY_MS: "3600000" });
  const payout = { body: aPayout({ reference: "payroll-1", webhookURL: receiver.url }) };
  const created = await before.client(KEY).request("POST", "/v1/disbursements", payout);
  expect(created.status).toBe(200);
  const { rows, run } = createTerminal({ ...sqlite, DATABASE_URL_TO: database.url });
  await rows(["db copy", 2, /^Another server or command is using .+ Stop it/]);
  await stop(before);

  const copied = await run("db copy");
  expect(copied).toMatch(/^Copied and compared:\n  merchants: 1\n  api_keys: 1\n[^]+  disbursements: 1, amounts /);
  expect(copied).toMatch(/Set DATABASE_URL to the new database/);
  expect(copied).not.toContain(new URL(database.url).password);
  await rows(["db copy", 2, /^The destination is not empty: /]);

  const after = await start({ DATABASE_URL: database.url });
  const { request } = after.client(KEY);
  expect((await request("POST", "/v1/disbursements", payout)).status).toBe(409);
  const { reference } = created.body.data;
  const verify = async () => (await request("GET", `/v1/disbursements/${reference}`)).body.data.status;
  expect(await verify()).toBe("pending");
  expect((await request("POST", "/sandbox/clock/advance", { body: { seconds: 3_600 } })).status).toBe(200);
  expect(await verify()).toBe("success");
  expect(receiver.received.map(({ body }) => body.data.reference)).toEqual([reference]);
  await stop(after);
  await receiver.close();
});

test.each<[Record<string, string>, RegExp]>([
  [{ DATABASE_URL_TO: "" }, /^Invalid configuration:\n  - DATABASE_URL_TO must be postgres:\/\/USER/],
  [{ DATABASE_URL_TO: "sqlite:other.db" }, /DATABASE_URL_TO must be postgres:\/\/USER:PASSWORD@.+ empty database/],
  [{ DATABASE_URL_TO: "postgres://ada:confidential@[/shop" }, /DATABASE_URL_TO must be .+ \(its value is not shown\)/],
  [{ DATABASE_URL: "postgres://ada:confidential@db/shop" }, /^db copy copies a SQLite database, .+ pg_restore\.$/],
])("db copy with %j says what is wrong, without the value", async (env, message) => {
  await openSqlite(path, { clock: createSystemClock(), server: true }).close();
  const refusal = await createTerminal({ ...sqlite, DATABASE_URL_TO: database.url, ...env }).run("db copy", 2);
  expect(refusal).toMatch(message);
  expect(refusal).not.toContain("confidential");
});

/** Stores 1,100 events of 100 days ago: one delivered, one failed, the others without an address. */
async function fill(storage: Storage): Promise<void> {
  const { id } = await addMerchant(storage);
  for (const status of ["delivered", "ended"] as const) {
    await addDelivery(storage, id);
    const [claimed] = await claimAll(storage);
    const at = Date.now() - 100 * DAY;
    await storage.recordAttempt(claimed!, { at, sentAt: at, latencyMs: 1 }, { status, step: 1 });
  }
  await Promise.all(Array.from({ length: 1_098 }, () => storage.insertDisbursement(aFinalDisbursement(id))));
}

test.each(["SQLite", "PostgreSQL"])("deletes old events beside a running server: %s", async (kind) => {
  const clock = createFakeClock(Date.now() - 100 * DAY);
  const storage =
    kind === "SQLite"
      ? openSqlite(path, { clock, server: true })
      : await openPostgres(database.url, { clock, server: true, time: "process" });
  await fill(storage);
  await storage.close();
  const env = kind === "SQLite" ? sqlite : { DATABASE_URL: database.url };
  const server = await start(env);
  const { rows, json } = createTerminal(env);
  const none = { dryRun: true, events: 0, attempts: 0, bytes: 0 };
  expect(await json("db prune --older-than 101d --dry-run")).toEqual(none);
  await rows(
    ["db prune --older-than 90d --dry-run", 0, /^dryRun: true\nevents: 1099\nattempts: 1\nbytes: \d+$/],
    ["db prune --older-than 90d", 0, /^dryRun: false\nevents: 1099\n/],
  );
  expect(await json("db prune --older-than 2160h")).toEqual({ ...none, dryRun: false });
  const { request } = server.client(KEY);
  expect((await request("GET", "/sandbox/events")).body.data.items).toHaveLength(1);
  expect((await request("GET", "/v1/disbursements")).body.data.nextCursor).toBeDefined();
  await stop(server);
});
