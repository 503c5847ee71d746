import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readMigrations } from "../migrations.ts";
import { StorageError } from "../storage-error.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aDisbursement, LATEST } from "../../testing/storage/fixtures.ts";
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

describe("one program per file", () => {
  const IN_USE = /^Another server or command is using .+server\.db\. Stop it, or set DATABASE_URL to another file\.$/;

  test("a second server or command is refused until the first has closed the file", async () => {
    const first = openSqlite(path, server);
    expect(() => openSqlite(path, { clock, server: false })).toThrow(IN_USE);
    expect(readdirSync(folder).toSorted()).toEqual(["server.db", "server.db-wal"]);
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
    expect(() => openSqlite(link, server)).toThrow(/Another server or command is using/);
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
    expect(existsSync(":memory:")).toBe(false);
  });
});

test.each<[string, () => void]>([
  ["the database was deleted", () => rmSync(path)],
  ["the log was deleted", () => rmSync(`${path}-wal`)],
  ["the database was replaced", () => (copyFileSync(path, `${path}-copy`), renameSync(`${path}-copy`, path))],
])("records nothing more a second after %s, and can still be copied", async (_, harm) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const storage = openSqlite(path, server);
  const merchant = await addMerchant(storage);
  vi.advanceTimersByTime(1_000);
  const payout = aDisbursement(merchant.id);
  await storage.insertDisbursement(payout);
  harm();
  vi.advanceTimersByTime(1_000);
  vi.useRealTimers();
  const lost = /^A file of the server's database was deleted, moved or replaced\. .+`db backup FILE`/;
  await expect(storage.insertDisbursement(aDisbursement(merchant.id))).rejects.toThrow(lost);
  await expect(storage.ping()).rejects.toThrow(lost);
  await storage.backup(join(folder, "backup.db"));
  await storage.close();
  const copy = openSqlite(join(folder, "backup.db"), server);
  expect(await copy.findDisbursement(merchant.id, payout.reference)).toBeDefined();
  await copy.close();
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
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o077).toBe(0);
    await storage.close();
  });

  test("takes the access of others to an existing database away", async () => {
    await openSqlite(path, server).close();
    chmodSync(path, 0o644);
    await openSqlite(path, server).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("follows no symbolic link to a missing file", () => {
    const target = join(folder, "elsewhere");
    symlinkSync(target, path);
    expect(() => openSqlite(path, { clock, server: false })).toThrow(
      `${path} is a symbolic link to a file that does not exist. Remove it.`,
    );
    expect(existsSync(target)).toBe(false);
  });

  test("the schema of a newer server is refused and left unchanged", async () => {
    await openSqlite(path, server).close();
    inFile((db) => db.exec("PRAGMA user_version = 99"));
    expect(() => openSqlite(path, server)).toThrow(
      `The database has schema version 99; this server supports versions up to ${LATEST_SCHEMA}. Start the newer server`,
    );
    expect(inFile((db) => db.prepare("PRAGMA user_version").get())).toEqual({ user_version: 99 });
    // The failed start has closed the file.
    inFile((db) => db.exec(`PRAGMA user_version = ${LATEST_SCHEMA}`));
    await openSqlite(path, server).close();
  });
});

test("the log stays short, because it is copied into the file again and again", async () => {
  const storage = openSqlite(path, server);
  const { id } = await addMerchant(storage);
  async function sizeAfter(commits: number) {
    for (let made = 0; made < commits; made += 1) await storage.insertDisbursement(aDisbursement(id));
    return statSync(`${path}-wal`).size;
  }
  const size = await sizeAfter(128);
  expect(await sizeAfter(256)).toBeLessThan(2 * size);
  await storage.close();
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
  for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
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
