import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readMigrations } from "../migrations.ts";
import { StorageError } from "../storage-error.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { ACTOR, addKey, addMerchant, aDisbursement, LATEST } from "../../testing/storage/fixtures.ts";
import { LOG_BYTES, openDatabase } from "./database.ts";
import { openSqlite } from "./index.ts";

const clock = createFakeClock();
const server = { clock, server: true };
const LATEST_SCHEMA = readMigrations(new URL("migrations/", import.meta.url)).length;
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sqlite-"));
  path = join(folder, "server.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

function inFile<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const dump = () =>
  inFile((db) => ({
    version: db.prepare("PRAGMA user_version").get()!.user_version,
    tables: db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all(),
  }));

test("the write-ahead log shrinks while the database is open, after a long read has made it grow", async () => {
  const db = openDatabase(path);
  db.exec("CREATE TABLE t (x)");
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM t").all();
  const insert = db.prepare("INSERT INTO t VALUES (randomblob(1048576))");
  for (let written = 0; written <= LOG_BYTES; written += 1_048_576) insert.run();
  const size = () => statSync(`${path}-wal`).size;
  expect(size()).toBeGreaterThan(LOG_BYTES);
  reader.close();
  for (let written = 0; written < 3; written += 1) insert.run();
  expect(size()).toBeLessThanOrEqual(LOG_BYTES);
  db.close();
});

describe("one server per file", () => {
  const IN_USE = /^Another server is using .+server\.db\. Stop it, or set DATABASE_URL to another file\.$/;

  test("a second server is refused until the first has closed the file", async () => {
    const first = openSqlite(path, server);
    expect(() => openSqlite(path, server)).toThrow(StorageError);
    expect(() => openSqlite(path, server)).toThrow(IN_USE);
    expect(() => openSqlite(join(folder, "..", folder.split("/").at(-1)!, "server.db"), server)).toThrow(IN_USE);
    await first.close();
    await openSqlite(path, server).close();
  });

  test("a symbolic link leads to the same lock", async () => {
    const first = openSqlite(path, server);
    const link = join(folder, "link.db");
    symlinkSync(path, link);
    expect(() => openSqlite(link, server)).toThrow(/Another server is using/);
    await first.close();
  });

  test("what another process changes of a merchant or a key governs the next payout", async () => {
    const storage = openSqlite(path, server);
    const beside = openSqlite(path, { clock, server: false });
    const { id } = await addMerchant(storage);
    const key = await addKey(storage, id);
    const refused = async () => (await storage.insertDisbursement(aDisbursement(id, { keyId: key.id }))).refusal?.code;
    expect(await refused()).toBeUndefined();
    await beside.setMerchantState(id, "suspended", ACTOR);
    expect(await refused()).toBe("merchant_suspended");
    await beside.setMerchantState(id, undefined, ACTOR);
    expect(await refused()).toBeUndefined();
    await beside.setKeyLimits(key.id, { countries: [] }, ACTOR);
    expect(await refused()).toBe("limit_exceeded");
    await storage.setKeyLimits(key.id, undefined, ACTOR);
    expect(await refused()).toBeUndefined();
    await beside.setMerchantLimits(id, { countries: [] }, ACTOR);
    expect(await refused()).toBe("limit_exceeded");
    await Promise.all([storage.close(), beside.close()]);
  });

  test("another process may open the file beside the server; each sees the other's writes", async () => {
    const first = openSqlite(path, server);
    const beside = openSqlite(path, { clock, server: false });
    const merchant = await addMerchant(beside);
    expect(await first.findMerchant(merchant.id)).toEqual(merchant);
    expect(await beside.revokeKey("nothing", 0, "command ada@host")).toBe(false);
    await beside.close();
    expect(() => openSqlite(path, server)).toThrow(IN_USE);
    await first.close();
  });

  test("a server that was killed leaves no lock behind", async () => {
    const script = `
      import { openSqlite } from ${JSON.stringify(new URL("index.ts", import.meta.url).href)};
      import { createSystemClock } from ${JSON.stringify(new URL("../../domain/clock.ts", import.meta.url).href)};
      globalThis.storage = openSqlite(process.argv[1], { clock: createSystemClock(), server: true });
      console.log("open");
      setInterval(() => {}, 1_000);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script, path]);
    await once(child.stdout, "data");
    expect(() => openSqlite(path, server)).toThrow(IN_USE);
    child.kill("SIGKILL");
    await once(child, "exit");
    await openSqlite(path, server).close();
  });

  test("in-memory databases are independent", async () => {
    const both = [openSqlite(":memory:", server), openSqlite(":memory:", server)] as const;
    const { id } = await addMerchant(both[0]);
    expect(await both[1].findMerchant(id)).toBeUndefined();
    await Promise.all(both.map((storage) => storage.close()));
    expect(existsSync(":memory:.lock")).toBe(false);
  });
});

describe("schema", () => {
  test("a new file gets the full schema, and a second start changes nothing", async () => {
    await openSqlite(path, server).close();
    const fresh = dump();
    expect(fresh.version).toBe(LATEST_SCHEMA);
    expect(fresh.tables.map(({ name }) => name)).toEqual(expect.arrayContaining(["disbursements", "events"]));
    await openSqlite(path, server).close();
    expect(dump()).toEqual(fresh);
  });

  test("only the owner can read the files", async () => {
    const storage = openSqlite(path, server);
    await storage.listMerchants();
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o077).toBe(0);
    await storage.close();
  });

  test("takes the access of others to an existing database away, and to the files beside it", async () => {
    const first = openSqlite(path, { clock, server: false });
    const files = [path, `${path}-wal`, `${path}-shm`];
    for (const file of files) chmodSync(file, 0o644);
    const storage = openSqlite(path, server);
    for (const file of [...files, `${path}.lock`]) expect([file, statSync(file).mode & 0o777]).toEqual([file, 0o600]);
    await Promise.all([first.close(), storage.close()]);
  });

  test("follows no symbolic link to a missing file, for the database or its lock", async () => {
    const target = join(folder, "elsewhere");
    symlinkSync(target, path);
    expect(() => openSqlite(path, { clock, server: false })).toThrow(
      `${path} is a symbolic link to a file that does not exist. Remove it.`,
    );
    rmSync(path);
    symlinkSync(target, `${path}.lock`);
    expect(() => openSqlite(path, server)).toThrow(`${path}.lock is a symbolic link. Remove it.`);
    expect(existsSync(target)).toBe(false);
  });

  test("uses a write-ahead log", async () => {
    const storage = openSqlite(path, server);
    expect(inFile((db) => db.prepare("PRAGMA journal_mode").get())).toEqual({ journal_mode: "wal" });
    await storage.close();
  });

  test("the schema of a newer server is refused and left unchanged", async () => {
    await openSqlite(path, server).close();
    inFile((db) => db.exec("PRAGMA user_version = 99"));
    expect(() => openSqlite(path, server)).toThrow(
      `The database has schema version 99; this server supports versions up to ${LATEST_SCHEMA}. Start the newer server`,
    );
    expect(inFile((db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: 99 });
    // The failed start released the lock.
    inFile((db) => db.exec(`PRAGMA user_version = ${LATEST_SCHEMA}`));
    await openSqlite(path, server).close();
  });
});

test("a crash between the ends of two overlapping clock moves loses nothing of the later one", async () => {
  const storage = openSqlite(path, server);
  const merchant = await addMerchant(storage);
  await Promise.all(Array.from({ length: 2_500 }, () => storage.insertDisbursement(aDisbursement(merchant.id))));
  const move = () => storage.moveClock(merchant.id, { by: 500 }, LATEST);
  const first = move();
  // The second move begins after the first has recomputed some of the rows.
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  const second = move();
  await first;
  // Copy the file in the state in which a crash at this moment would leave it.
  const crashed = join(folder, "crashed.db");
  inFile((db) => db.prepare("VACUUM INTO ?").run(crashed));
  await second;
  await storage.close();

  const later = createFakeClock();
  const after = openSqlite(crashed, { clock: later, server: true });
  later.advance(1_000);
  expect(await after.settleDue(10_000)).toBe(2_500);
  await after.close();
});

describe("refuses an unusable path and says what to do", () => {
  const garbage = "this is not a database, but long enough to be read as one. ".repeat(100);
  test.each<[string, () => string]>([
    ["a file that is not a database", () => (writeFileSync(path, garbage), path)],
    ["a folder", () => (mkdirSync(path), path)],
    ["a path through a file", () => (writeFileSync(path, ""), join(path, "server.db"))],
    ["a file system that accepts no files", () => "/proc/server.db"],
    ["a folder that cannot be created", () => "/dev/null/data/server.db"],
    ["a database with a table of the same name", () => (inFile((db) => db.exec("CREATE TABLE merchants (a)")), path)],
    ["the database of another program", () => (inFile((db) => db.exec("CREATE TABLE notes (a)")), path)],
    [
      "a corrupt database",
      () => {
        inFile((db) => db.exec("CREATE TABLE other (a); INSERT INTO other VALUES (zeroblob(100000))"));
        writeFileSync(path, garbage, { flag: "r+" });
        return path;
      },
    ],
  ])("%s", async (_, make) => {
    const unusable = make();
    for (const options of [server, { clock, server: false }]) {
      expect(() => openSqlite(unusable, options)).toThrow(StorageError);
      expect(() => openSqlite(unusable, options)).toThrow(/^Cannot open the database .+: .+\. Check DATABASE_URL\.$/s);
    }
  });

  test("an empty file is a new database", async () => {
    writeFileSync(path, "");
    await openSqlite(path, server).close();
    expect(dump().version).toBe(LATEST_SCHEMA);
  });
});
