import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { readMigrations } from "../storage/migrations.ts";
import { openPostgres } from "../storage/postgres/index.ts";
import { serveStorage } from "../storage/socket/serve.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { runCommand } from "../testing/process.ts";
import {
  addDelivery,
  addMerchant,
  aCheckout,
  aDisbursement,
  claimAll,
  HOUR,
  LATEST,
} from "../testing/storage/fixtures.ts";

let folder: string;
let path: string;
let env: { DATABASE_URL: string };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-"));
  path = join(folder, "server.db");
  env = { DATABASE_URL: `sqlite:${path}` };
});
afterEach(() => rmSync(folder, { recursive: true }));

const db = (...args: string[]) => runCommand(env, "db", ...args);
async function json(...args: string[]) {
  const { code, stdout, stderr } = await db(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

/** Stores two merchants, two pending payouts, a checkout and four deliveries: waiting, due, replayed and failed. */
async function fill(storage: Storage): Promise<void> {
  const [ada, kofi] = [await addMerchant(storage), await addMerchant(storage)];
  await storage.moveClock(kofi.id, { by: HOUR }, LATEST);
  for (const { id } of [ada, kofi]) await storage.insertDisbursement(aDisbursement(id, { due: undefined! }));
  await storage.insertCheckout(aCheckout(ada.id));
  await addDelivery(storage, kofi.id);
  await storage.insertDisbursement(aDisbursement(kofi.id, { status: "failed", due: undefined! }));
  for (const status of ["pending", "exhausted"] as const) {
    await addDelivery(storage, ada.id);
    const [claimed] = await claimAll(storage, { merchantId: ada.id });
    const at = createSystemClock().now();
    const next = status === "pending" ? { nextAttemptAt: at + HOUR } : {};
    await storage.recordAttempt(claimed!, { at, sentAt: at, latencyMs: 1 }, { status, step: 1, ...next });
  }
}
const WORK = {
  pendingPayouts: 2,
  pendingCheckouts: 1,
  pendingDeliveries: 2,
  dueDeliveries: 1,
  failedDeliveries: 1,
  oldestDueAt: expect.stringMatching(/^\d{4}-.+Z$/),
};

describe("SQLite", () => {
  test("migrates explicitly, after a check that changes nothing", async () => {
    writeFileSync(path, "");
    const checked = await db("migrate", "--check");
    expect([checked.code, checked.stderr]).toEqual([1, ""]);
    expect(checked.stdout).toMatch(/^Version 0\. Pending migrations:\n {2}001-baseline\.sql\n/);
    expect(await json("status")).toMatchObject({ version: 0, inUse: false });
    expect((await db("status")).stdout).toContain("\nPayouts and deliveries: shown after `db migrate`\n");

    const { code, stdout } = await db("migrate");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Migrated from version 0 to \d+\.\n$/)]);
    const { version, pending } = await json("migrate", "--check");
    expect([stdout, pending]).toEqual([`Migrated from version 0 to ${version}.\n`, []]);
    expect(await json("migrate")).toEqual({ from: version, to: version });
    expect(await json("status")).toMatchObject({ version, pendingMigrations: [], work: { pendingPayouts: 0 } });
  });

  test("a running server says how it is, and writes a backup, which can be checked", async () => {
    const storage = openSqlite(path, { clock: createSystemClock(), server: true });
    const served = await serveStorage(path, storage, (reason) => expect.unreachable(reason));
    await fill(storage);
    const status = await json("status");
    expect(status).toMatchObject({ storage: "sqlite", inUse: true, work: WORK });
    expect(status.file).toMatch(/server\.db$/);
    expect(status.bytes).toBeGreaterThan(100_000);
    const check = await db("check");
    expect([check.code, check.stderr]).toEqual([
      2,
      expect.stringMatching(/^A server is using .+`db backup FILE`, and/),
    ]);
    const refused = await db("migrate");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/^Another server or command is using /)]);
    const copy = join(folder, "copy.db");
    expect((await db("backup", copy)).code).toBe(0);
    served.close();
    await storage.close();
    env = { DATABASE_URL: `sqlite:${copy}` };
    expect((await db("check")).stdout).toMatch(/^Checked \d+ pages .+ Nothing is damaged\.\n$/);
    expect(await json("status")).toMatchObject({ inUse: false, work: WORK });
  });

  test("check exits with 1 if something is damaged", async () => {
    const storage = openSqlite(path, { clock: createSystemClock(), server: true });
    await fill(storage);
    await storage.close();
    const damaged = new DatabaseSync(path);
    damaged.exec("DELETE FROM disbursements");
    damaged.close();
    const { code, stdout } = await db("check");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^The database is damaged:\n {2}4 events of no payout or checkout\n {2}The entries of merchant \S+ in XOF do not agree/,
    );
  });

  test("prints the status for people", async () => {
    const storage = openSqlite(path, { clock: createSystemClock(), server: false });
    await fill(storage);
    await storage.close();
    expect((await db("status")).stdout).toMatch(
      new RegExp(
        [
          "^SQLite: .+server\\.db",
          "No server is using it\\.",
          "Mode: not decided; the first server decides it",
          "Version: \\d+",
          "Size: \\d+\\.\\d MiB",
          "Pending: 2 payouts, 1 checkouts, 2 deliveries",
          "Deliveries due: 1, the oldest since \\d{4}-\\S+Z",
          "Deliveries failed: 1\n$",
        ].join("\n"),
      ),
    );
  });

  test.each([
    ["status", /^Cannot open the database .+: file is not a database\. Check DATABASE_URL\.\n$/],
    ["migrate", /^Cannot open the database .+: file is not a database\. Check DATABASE_URL\.\n$/],
  ])("%s refuses a file that is no database", async (command, message) => {
    writeFileSync(path, "not a database, but longer than the header of one. ".repeat(20));
    const { code, stdout, stderr } = await db(command);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(message)]);
  });

  test.each(["status", "migrate", "check", "backup copy"])("%s does not create a missing database", async (command) => {
    const { code, stderr } = await db(...command.split(" "));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^There is no database at .+ Start the server first/)]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(["status", "migrate"])("%s refuses a database of a newer server", async (command) => {
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 999");
    newer.close();
    const { code, stderr } = await db(command);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^The database has schema version 999; this server /)]);
  });
});

describe("PostgreSQL", () => {
  const MIGRATIONS = readMigrations(new URL("../storage/postgres/migrations/", import.meta.url));
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
    env = { DATABASE_URL: database.url };
  });
  afterEach(() => database.drop());

  test("migrates explicitly, after a check that changes nothing", async () => {
    const checked = await db("migrate", "--check");
    const listed = MIGRATIONS.map(({ name }) => `  ${name}\n`).join("");
    expect([checked.code, checked.stdout]).toEqual([1, `Version 0. Pending migrations:\n${listed}`]);
    expect(await json("status")).toMatchObject({ version: 0 });
    const latest = MIGRATIONS.length;
    expect((await db("migrate")).stdout).toBe(`Migrated from version 0 to ${latest}.\n`);
    expect((await db("migrate", "--check")).stdout).toBe(`Version ${latest}. No migration is pending.\n`);
    expect((await db("migrate")).stdout).toBe(`Version ${latest}. Nothing to do.\n`);
  });

  test("status shows what waits, the server and its connections, and no password", async () => {
    const storage = await openPostgres(database.url, { clock: createSystemClock(), server: true });
    await fill(storage);
    const { code, stdout, stderr } = await db("status", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    const { password, hostname, port, pathname } = new URL(database.url);
    expect(stdout).not.toContain(password);
    const status = JSON.parse(stdout);
    expect(status).toMatchObject({
      storage: "postgres",
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      serverVersion: expect.stringMatching(/^\d+/),
      version: MIGRATIONS.length,
      pendingMigrations: [],
      work: WORK,
    });
    const { service, server, most } = status.connections;
    expect(service).toBeGreaterThan(0);
    expect(server).toBeGreaterThan(service);
    expect(most).toBeGreaterThanOrEqual(server);
    const printed = (await db("status")).stdout;
    expect(printed).toMatch(/^PostgreSQL \d+\S*.*: test_\w+ at 127\.0\.0\.1:\d+\nConnections: \d+ of this service; /);
    expect(printed).not.toContain(password);
    await storage.close();
  });

  test.each(["status", "migrate", "migrate --check"])("%s refuses the tables of another program", async (command) => {
    await database.run("CREATE TABLE orders (id bigint)");
    const { code, stderr } = await db(...command.split(" "));
    const message =
      "Cannot open the PostgreSQL database: it contains the tables of another program. Check DATABASE_URL.\n";
    expect([code, stderr]).toEqual([2, message]);
  });

  test("refuses a database of a development version", async () => {
    await database.run("CREATE TABLE schema_migrations (version bigint); CREATE TABLE customers (id text)");
    for (const command of ["status", "migrate"]) {
      const { code, stderr } = await db(command);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/^A development version made the database, .+ Set DATABASE_/),
      ]);
    }
  });

  test.each(["status", "migrate"])("%s without a server or with a wrong password says so", async (command) => {
    const wrong = Object.assign(new URL(database.url), { password: "confidential" });
    const away = Object.assign(new URL(wrong), { port: "1" });
    for (const { href } of [wrong, away]) {
      env = { DATABASE_URL: href };
      const { code, stdout, stderr } = await db(command);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^Cannot open the PostgreSQL database: .+ Check DATABASE_URL\.\n$/);
      expect(stderr).not.toContain("confidential");
    }
  });
});

test("a database URL is refused as an argument, because others could read its password", async () => {
  const { code, stderr } = await db("status", "postgres://ada:confidential@db.example/shop");
  expect(code).toBe(2);
  expect(stderr).toMatch(/^An argument is the URL of a database\. .+ DATABASE_URL_TO\.\n$/);
  expect(stderr).not.toContain("confidential");
});
