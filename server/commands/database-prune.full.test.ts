import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Storage } from "../domain/storage.ts";
import { openPostgres } from "../storage/postgres/index.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createTerminal } from "../testing/commands.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { startProcess } from "../testing/process.ts";
import { addDelivery, addMerchant, aFinalDisbursement, claimAll, DAY } from "../testing/storage/fixtures.ts";

const KEY = "a-key-for-tests-of-pruning";
let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "prune-"));
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
});
afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
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
  const path = join(folder, "server.db");
  const clock = createFakeClock(Date.now() - 100 * DAY);
  const storage =
    kind === "SQLite"
      ? openSqlite(path, { clock, server: true })
      : await openPostgres(database.url, { clock, server: true, time: "process" });
  await fill(storage);
  await storage.close();
  const env = { DATABASE_URL: kind === "SQLite" ? `sqlite:${path}` : database.url };
  const server = await startProcess({ ...env, SANDBOX: "true", SANDBOX_API_KEY: KEY });
  const { rows, json } = createTerminal(env);
  const none = { dryRun: true, events: 0, attempts: 0, bytes: 0 };
  expect(await json("db prune --older-than 101d --dry-run")).toEqual(none);
  await rows(
    ["db prune --older-than 90d --dry-run", 0, /^Would delete: 1099 events with 1 attempts, \d\.\d MiB of bodies$/],
    ["db prune --older-than 90d", 0, /^Deleted: 1099 events with 1 attempts, /],
  );
  expect(await json("db prune --older-than 2160h")).toEqual({ ...none, dryRun: false });
  const { body } = await server.client(KEY).request("GET", "/sandbox/events");
  expect(body.data.items).toHaveLength(1);
  const records = await server.client(KEY).request("GET", "/v1/disbursements");
  expect(records.body.data.nextCursor).toBeDefined();
  server.kill("SIGTERM");
  await server.ended;
});
