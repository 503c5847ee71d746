import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { createSystemClock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { openPostgres } from "../storage/postgres/index.ts";
import { serveStorage } from "../storage/socket.ts";
import { openSqlite } from "../storage/sqlite/index.ts";
import type { TestDatabase } from "../testing/postgres.ts";
import { createTerminal, type Row } from "../testing/commands.ts";
import { ACTOR, addDelivery, addMerchant, aCheckout, aDisbursement, claimAll } from "../testing/storage/fixtures.ts";
import { HOUR } from "../testing/times.ts";
import { stop, testDatabase, testFolder, startTestServer } from "../testing/resources.ts";

let folder: string;
let path: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = testFolder();
  path = join(folder, "server.db");
  env = { DATABASE_URL: `sqlite:${path}` };
});

const rows = (...table: Row[]) => createTerminal(env).rows(...table);
const json = (typed: string) => createTerminal(env).json(typed);
/** Stores two merchants, two pending payouts, a checkout, and four events: without an address, due, waiting and failed. */
async function fill(storage: Storage): Promise<void> {
  const [ada, kofi] = [await addMerchant(storage), await addMerchant(storage)];
  await storage.moveClock(kofi.id, { by: HOUR }, ACTOR);
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
  failedDeliveries: 1,
};

/** Opens the SQLite database as a server in this process, whose storage commands use. */
async function serveSqlite(clock = createSystemClock()) {
  const storage = openSqlite(path, { clock, server: true, mode: "sandbox" });
  const stopServing = await serveStorage(path, storage);
  const close = async () => (stopServing(), storage.close());
  return { storage, close };
}

const NO_DATABASE = /^Cannot open the database .+: file is not a database\. Check DATABASE_URL\.$/;

test.each(["SQLite", "PostgreSQL"])("%s: migrates explicitly, after a check that changes nothing", async (kind) => {
  if (kind === "SQLite") writeFileSync(path, "");
  else env = { DATABASE_URL: (await testDatabase()).url };
  await rows(
    ["db migrate --check", 1, /^version: 0\npending:\n  - 001-baseline\.sql\nisWrong: true$/],
    ["db migrate", 0, /^from: 0\nto: 1$/],
    ["db migrate --check", 0, /^version: 1\npending: \[\]\nisWrong: false$/],
    ["db migrate", 0, /^from: 1\nto: 1$/],
  );
  expect(await json("db status")).toMatchObject({ version: 1, pendingMigrations: [], work: { pendingPayouts: 0 } });
});

describe("SQLite", () => {
  test("a running server says how it is, and writes a backup, which can be checked; damage is found", async () => {
    const { storage, close } = await serveSqlite();
    await fill(storage);
    const status = await json("db status");
    expect(status).toMatchObject({ storage: "sqlite", inUse: true, work: WORK });
    expect(status.file).toMatch(/server\.db$/);
    expect(status.bytes).toBeGreaterThan(100_000);
    const copy = join(folder, "copy.db");
    await rows(
      ["db migrate", 2, /^Another server or command is using /],
      ["db check", 2, /^Another server or command is using /],
      [`db backup ${copy}`, 0],
    );
    const moved = join(folder, "moved.db");
    renameSync(path, moved);
    await rows([`db backup ${join(folder, "rescued.db")}`, 0], ["db status", 0]);
    renameSync(moved, path);
    await close();
    const beside = createTerminal({ DATABASE_URL: `sqlite:${copy}` });
    await beside.rows(["db check", 0, /^pages: \d+\nfindings: \[\]\nisWrong: false$/]);
    expect(await beside.json("db status")).toMatchObject({ inUse: false, work: WORK });
    await rows([
      "db status",
      0,
      /^storage: sqlite\nfile: .+server\.db\ninUse: false\n[^]+, failedDeliveries: 1 \}\nmode: sandbox$/,
    ]);
    const damaged = new DatabaseSync(path);
    damaged.exec("DELETE FROM disbursements");
    damaged.close();
    const found =
      /^pages: \d+\nfindings:\n  - 4 events of no payout or checkout\n  - The entries of merchant \S+ in XOF do not/;
    await rows(["db check", 1, found]);
  });

  test("refuses what is no database of this program, and creates none", async () => {
    for (const command of ["status", "migrate", "check", "backup copy"])
      await rows([`db ${command}`, 2, /^There is no database at .+ Start the server first/]);
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(path, "not a database, but longer than the header of one. ".repeat(20));
    await rows(["db status", 2, NO_DATABASE], ["db migrate", 2, NO_DATABASE]);
    rmSync(path);
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 999");
    newer.close();
    const refusal = /^The database has schema version 999; this server /;
    await rows(["db status", 2, refusal], ["db migrate", 2, refusal]);
  });

  test("restores a backup after the server has stopped, and a server starts on it", async () => {
    env.SANDBOX = "true";
    const backup = join(folder, "backup.db");
    await rows(["keys create-merchant Before", 0], [`db backup ${backup}`, 0], ["keys create-merchant After", 0]);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    await rows([`db backup ${backup}`, 2, /^The backup of .+ failed: the file exists\.$/]);
    const { close } = await serveSqlite();
    await rows([`db restore ${backup} --replace`, 2, /^Another server or command is using .+ Stop it/]);
    await close();
    const { rows: more, known } = createTerminal(env);
    const restored =
      /^Restored .+backup\.db, of version \d+\..+\nThe old database is kept: (?<kept>.+db\.replaced-\d{8}T\d{9}Z)\n/;
    await more(
      [`db restore ${backup}`, 2, / exists\. Add --replace to put /],
      [`db restore ${backup} --replace`, 0, restored],
    );
    expect(readdirSync(folder)).toContain(known.kept!.slice(folder.length + 1));
    await stop(await startTestServer({ ...env, SANDBOX_API_KEY: undefined }));
    await rows(["keys merchants", 0, /^items:\n  - \{ id: \S+, name: Before, [^\n]+$/]);
  });

  test("is copied to PostgreSQL, once", async () => {
    const { url } = await testDatabase();
    const { storage, close } = await serveSqlite();
    await fill(storage);
    await close();
    env.DATABASE_URL_TO = url;
    const copied = /^Copied and compared:\n  merchants: 2\n[^]+  disbursements: \d+\n[^]+\nSet DATABASE_URL to the new/;
    await rows(["db copy", 0, copied], ["db copy", 2, /^The destination is not empty: /]);
  });

  test.each<[changes: Record<string, string>, message: RegExp]>([
    [{ DATABASE_URL_TO: "" }, /^Invalid configuration:\n  - DATABASE_URL_TO must be postgres:\/\/USER/],
    [{ DATABASE_URL_TO: "sqlite:other.db" }, /DATABASE_URL_TO must be postgres:\/\/USER:PASSWORD@.+ empty database/],
    [{ DATABASE_URL_TO: "postgres://ada:secret@[/shop" }, /DATABASE_URL_TO must be .+ \(its value is not shown\)/],
    [{ DATABASE_URL: "postgres://ada:secret@db/shop" }, /^db copy copies a SQLite database, .+ pg_restore\.$/],
  ])("db copy with %j says what is wrong, without the value", async (changes, message) => {
    await (await serveSqlite()).close();
    const refusal = await createTerminal({ ...env, DATABASE_URL_TO: "postgres://db/shop", ...changes }).run(
      "db copy",
      2,
    );
    expect(refusal).toMatch(message);
    expect(refusal).not.toContain("secret");
  });
});

describe("PostgreSQL", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await testDatabase();
    env = { DATABASE_URL: database.url };
  });

  test("status shows what waits, the server and its connections, and no password", async () => {
    const storage = await openPostgres(database.url, { clock: createSystemClock(), server: true });
    await fill(storage);
    const { password, hostname: host, port, pathname } = new URL(database.url);
    const status = await json("db status");
    expect(status).toMatchObject({
      storage: "postgres",
      host,
      port: Number(port),
      database: pathname.slice(1),
      work: WORK,
      version: 1,
      serverVersion: expect.stringMatching(/^\d+/),
      pendingMigrations: [],
    });
    const { service, server, most } = status.connections;
    expect([0, service, server, most]).toEqual([0, service, server, most].toSorted((one, other) => one - other));
    const printed = await createTerminal(env).run("db status");
    expect(printed).toMatch(/^storage: postgres\nhost: 127\.0\.0\.1\nport: \d+\ndatabase: test_\w+\n/);
    expect(printed + JSON.stringify(status)).not.toContain(password);
    await storage.close();
  });

  test.each(["db status", "db migrate", "db migrate --check"])("%s refuses what it cannot use", async (command) => {
    const refused = (problem: RegExp) => rows([command, 2, problem]);
    const url = database.url;
    for (const change of [{ password: "confidential" }, { password: "confidential", port: "1" }]) {
      env = { DATABASE_URL: Object.assign(new URL(url), change).href };
      await refused(/^Cannot open the PostgreSQL database: (?!.*confidential).+ Check DATABASE_URL\.$/);
    }
    env = { DATABASE_URL: url };
    await database.run("CREATE TABLE orders (id bigint)");
    await refused(
      /^Cannot open the PostgreSQL database: it contains the tables of another program\. Check DATABASE_URL\.$/,
    );
  });

  test("prints which programs back up and restore, without the password", async () => {
    const { run } = createTerminal({ DATABASE_URL: "postgres://ada:hunter2@db.example:5433/shop" });
    const advice = [await run("db backup copy", 2), await run("db restore copy", 2)].join("\n");
    for (const program of ["pg_dump", "createdb", "pg_restore", "psql"]) expect(advice).toContain(`\n  ${program} `);
    expect(advice).not.toContain("hunter2");
  });
});
