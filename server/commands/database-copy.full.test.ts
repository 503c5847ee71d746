import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createTerminal } from "../testing/commands.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { startProcess, type ServerProcess } from "../testing/process.ts";
import { startReceiver, type Receiver } from "../testing/receiver.ts";
import { aPayout } from "../testing/server.ts";

const KEY = "a-key-for-tests-of-the-copy";
const SERVER = { SANDBOX_API_KEY: KEY, SETTLE_DELAY_MS: "3600000" };
let folder: string;
let sqlite: { DATABASE_URL: string };
let database: TestDatabase;
let receiver: Receiver;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "copy-"));
  sqlite = { DATABASE_URL: `sqlite:${join(folder, "server.db")}` };
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function stop(server: ServerProcess): Promise<void> {
  server.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
}

test("a service moves from SQLite to PostgreSQL", async () => {
  const before = await startProcess({ ...sqlite, ...SERVER });
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

  const after = await startProcess({ DATABASE_URL: database.url, ...SERVER });
  const client = after.client(KEY);
  expect((await client.request("POST", "/v1/disbursements", payout)).status).toBe(409);
  const { reference } = created.body.data;
  const verify = async () => (await client.request("GET", `/v1/disbursements/${reference}`)).body.data.status;
  expect(await verify()).toBe("pending");
  const advanced = await client.request("POST", "/sandbox/clock/advance", { body: { seconds: 3_600 } });
  expect(advanced.status).toBe(200);
  expect(await verify()).toBe("success");
  expect(receiver.received.map(({ body }) => body.data.reference)).toEqual([reference]);
  await stop(after);
});

test.each<[Record<string, string>, RegExp]>([
  [{ DATABASE_URL_TO: "" }, /^Invalid configuration:\n  - DATABASE_URL_TO must be postgres:\/\/USER/],
  [{ DATABASE_URL_TO: "sqlite:other.db" }, /DATABASE_URL_TO must be postgres:\/\/USER:PASSWORD@.+ empty database/],
  [{ DATABASE_URL_TO: "postgres://ada:confidential@[/shop" }, /DATABASE_URL_TO must be .+ \(its value is not shown\)/],
  [{ DATABASE_URL: "postgres://ada:confidential@db/shop" }, /^db copy copies a SQLite database, .+ pg_restore\.$/],
])("%j: says what is wrong, without the value", async (env, message) => {
  await openSqlite(join(folder, "server.db"), { clock: createSystemClock(), server: true }).close();
  const refusal = await createTerminal({ ...sqlite, DATABASE_URL_TO: database.url, ...env }).run("db copy", 2);
  expect(refusal).toMatch(message);
  expect(refusal).not.toContain("confidential");
});
