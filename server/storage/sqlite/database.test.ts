// The file of a SQLite database: who may open it, what is lost with it, its backup and its check.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { StorageError } from "../storage-error.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useFolder } from "../../testing/places.ts";
import { addMerchant, aDisbursement, aFinalDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { backupUnused } from "./backup.ts";
import { openSqlite } from "./index.ts";
import { checkSqlite } from "./tools.ts";

const pathOf = useFolder();
let path: string;
beforeEach(() => {
  path = pathOf("server.db");
});
const open = (at = path, server = true) => openSqlite(at, { clock: createFakeClock(), server });

function inFile<T>(work: (db: DatabaseSync) => T): T {
  using db = new DatabaseSync(path);
  return work(db);
}
const execute = (sql: string) => inFile((db) => db.exec(sql));
describe("one program per file", () => {
  const IN_USE = /^Another server or command is using .+\.db\. Stop it, or set DATABASE_URL to another file\.$/;

  test("a second server or command is refused until the first has closed the file, also by another path", async () => {
    const first = open();
    expect(() => open(path, false)).toThrow(IN_USE);
    expect(readdirSync(pathOf()).toSorted()).toEqual(["server.db", "server.db-wal"]);
    symlinkSync(path, pathOf("link.db"));
    for (const name of [path, pathOf("link.db")]) {
      expect(() => open(name)).toThrow(StorageError);
      expect(() => open(name)).toThrow(IN_USE);
    }
    await first.close();
    await open().close();
  });
});

test.each<[string, () => void]>([
  ["the database was deleted", () => rmSync(path)],
  ["the log was deleted", () => rmSync(`${path}-wal`)],
  ["the database was replaced", () => (copyFileSync(path, `${path}-copy`), renameSync(`${path}-copy`, path))],
])("records nothing more a second after %s, and can still be copied", async (_, harm) => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const storage = open();
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
  await storage.backup(pathOf("backup.db"));
  await storage.close();
  const copy = open(pathOf("backup.db"));
  expect(await copy.findDisbursement(merchant.id, payout.reference)).toBeDefined();
  await copy.close();
});

describe("opening", () => {
  test("takes the access of others to the files away", async () => {
    await open().close();
    chmodSync(path, 0o644);
    const storage = open();
    await storage.listMerchants();
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o077).toBe(0);
    await storage.close();
  });

  const garbage = "this is not a database, but long enough to be read as one. ".repeat(100);
  const CHECK = /^Cannot open the database .+: .+\. Check DATABASE_URL\.$/s;
  test.each<[string, () => unknown]>([
    ["a file that is not a database", () => writeFileSync(path, garbage)],
    ["a folder", () => mkdirSync(path)],
    ["a path through a file", () => (writeFileSync(path, ""), join(path, "server.db"))],
    ["a file system that accepts no files", () => "/proc/server.db"],
    ["a folder that cannot be created", () => "/dev/null/data/server.db"],
    ["a database with a table of the same name", () => execute("CREATE TABLE merchants (a)")],
    ["the database of another program", () => execute("CREATE TABLE notes (a)")],
    [
      "a corrupt database",
      () => {
        execute("CREATE TABLE other (a); INSERT INTO other VALUES (zeroblob(100000))");
        writeFileSync(path, garbage, { flag: "r+" });
      },
    ],
    ["a symbolic link to a missing file", () => symlinkSync(pathOf("elsewhere"), path)],
  ])("refuses %s and says what to do", (_, make) => {
    const made = make();
    const unusable = typeof made === "string" ? made : path;
    for (const isServer of [true, false]) {
      expect(() => open(unusable, isServer)).toThrow(StorageError);
      expect(() => open(unusable, isServer)).toThrow(CHECK);
    }
    expect(existsSync(pathOf("elsewhere"))).toBe(false);
  });
});

test("the log stays short, because it is copied into the file again and again", async () => {
  const storage = open();
  const { id } = await addMerchant(storage);
  async function sizeAfter(commits: number) {
    for (let made = 0; made < commits; made += 1) await storage.insertDisbursement(aDisbursement(id));
    return statSync(`${path}-wal`).size;
  }
  const size = await sizeAfter(128);
  expect(await sizeAfter(256)).toBeLessThan(2 * size);
  await storage.close();
});

describe("a backup", () => {
  test("has every commit so far, while commits go on, is sound and private, and a server can start on it", async () => {
    const storage = open();
    const { id } = await addMerchant(storage);
    await concurrently(2_000, () => storage.insertDisbursement(aFinalDisbursement(id)));
    const file = pathOf("copy.db");
    let isDone = false;
    const copying = storage.backup(file).finally(() => (isDone = true));
    let meanwhile = 0;
    for (; !isDone; meanwhile += 1) await storage.insertDisbursement(aFinalDisbursement(id));
    await copying;
    expect(meanwhile).toBeGreaterThan(1);
    expect(readdirSync(pathOf()).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
    expect([statSync(file).mode & 0o777, statSync(file).nlink]).toEqual([0o600, 1]);
    await addMerchant(storage);
    await storage.close();
    expect(checkSqlite(file).findings).toEqual([]);
    const copy = open(file);
    expect(await copy.listMerchants()).toMatchObject([{ id }]);
    expect((await copy.listAudit({ limit: 10 })).items).toMatchObject([{ action: "merchant.create" }]);
    await copy.close();
  });

  test("replaces no file, not even the database", async () => {
    const storage = open();
    writeFileSync(pathOf("precious"), "precious");
    for (const file of [path, pathOf("precious")])
      await expect(storage.backup(file)).rejects.toThrow(/^Cannot create .+: it exists\. Choose another file\.$/);
    const missing = storage.backup(pathOf("missing", "copy.db"));
    await expect(missing).rejects.toThrow(/^Cannot create .+ Choose another file\.$/);
    expect(readFileSync(pathOf("precious"), "utf8")).toBe("precious");
    await addMerchant(storage);
    await storage.close();
  });

  test.each<[string, (source: string) => void]>([
    ["is a folder", (source) => mkdirSync(source)],
    ["is no database", (source) => writeFileSync(source, "no database, but longer than a header. ".repeat(100))],
    ["is empty", (source) => writeFileSync(source, "")],
  ])("of a source that %s leaves no file behind", async (_, make) => {
    make(path);
    const before = readdirSync(pathOf());
    await expect((async () => backupUnused(path, pathOf("copy.db")))()).rejects.toThrow(StorageError);
    expect(readdirSync(pathOf())).toEqual(before);
  });
});

describe("a check", () => {
  beforeEach(async () => {
    const storage = open();
    const { id } = await addMerchant(storage);
    await concurrently(300, () => storage.insertDisbursement(aFinalDisbursement(id)));
    await storage.close();
  });
  const PAGE = 4_096;

  /** Overwrites the last page of a table or index, because the first page only points to others. */
  function damage(table: string) {
    const pages = "SELECT max(rootpage) AS page FROM sqlite_schema WHERE tbl_name = ?";
    const page = inFile((db) => db.prepare(pages).get(table)!.page) as number;
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(PAGE, 7), 0, PAGE, (page - 1) * PAGE);
    closeSync(file);
  }
  const KEY = "INSERT INTO api_keys (id, merchant_id, hash, hint, created_at) VALUES ('k', 'm', x'00', 'h', 1)";

  test.each<[string, () => unknown, RegExp]>([
    ["a damaged table", () => damage("disbursements"), /./],
    ["a damaged index", () => damage("events"), /./],
    ["a cut-off file", () => truncateSync(path, statSync(path).size - 5 * PAGE), /./],
    [
      "an event without its payout, which no page shows",
      () => execute("PRAGMA foreign_keys = OFF; DELETE FROM disbursements WHERE rowid = 7"),
      /^1 events of no payout or checkout$/,
    ],
    [
      "a key without its merchant, which no page shows",
      () => execute(`PRAGMA foreign_keys = OFF; ${KEY}`),
      /^A row of api_keys refers to a row of merchants/,
    ],
  ])("finds %s", (_, harm, finding) => {
    expect(checkSqlite(path)).toEqual({ findings: [], pages: expect.any(Number) });
    harm();
    expect(checkSqlite(path).findings).toContainEqual(expect.stringMatching(finding));
  });
});
