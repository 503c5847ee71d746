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
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { StorageError } from "../storage-error.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { useFolder } from "../../testing/resources.ts";
import { mountSmallDisk } from "../../testing/small-disk.ts";
import {
  addMerchant,
  aDisbursement,
  aFinalDisbursement,
  concurrently,
  pendingOn,
} from "../../testing/storage/fixtures.ts";
import { backupUnused, restoreSqlite } from "./backup.ts";
import { openSqlite, type SqliteStorage } from "./index.ts";
import { checkSqlite } from "./tools.ts";

const PAGE = 4_096;
const pathOf = useFolder();
let path: string;
beforeEach(() => {
  path = pathOf("server.db");
});
const open = (at = path, server = true) => openSqlite(at, { clock: createFakeClock(), server });

/** Opens the storage, and closes it after the work. */
function opened<T>(at: string, work: (storage: SqliteStorage) => Promise<T>): Promise<T> {
  const storage = open(at);
  return work(storage).finally(() => storage.close());
}

function execute(sql: string, at = path): void {
  using db = new DatabaseSync(at);
  db.exec(sql);
}

/** Overwrites the last page of a table or of its indexes, because the first page only points to others. */
function damage(table: string, at = path): void {
  using db = new DatabaseSync(at);
  const pages = "SELECT max(rootpage) AS page FROM sqlite_schema WHERE tbl_name = ?";
  const page = db.prepare(pages).get(table)!.page as number;
  const file = openSync(at, "r+");
  writeSync(file, Buffer.alloc(PAGE, 7), 0, PAGE, (page - 1) * PAGE);
  closeSync(file);
}
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
    writeFileSync(`${path}-wal`, "");
    for (const file of [path, `${path}-wal`]) chmodSync(file, 0o644);
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

describe("a restore", () => {
  const VERSION = expect.any(Number);
  let backup: string;
  beforeEach(async () => {
    backup = pathOf("backup.db");
    await addAt(path, "Before");
    await backupUnused(path, backup);
    await addAt(path, "After");
  });

  const addAt = (at: string, name: string) => opened(at, (storage) => addMerchant(storage, { name }));
  const namesIn = (at: string) =>
    opened(at, async (storage) => (await storage.listMerchants()).map(({ name }) => name));
  const restore = async ({ replace = true, from = backup, to = path } = {}) =>
    restoreSqlite(to, from, { replace, suffix: "old", mode: "unset" });
  /** Leaves the file as a crash of the server would, with a merchant in its log. */
  async function crashAs(name: string): Promise<string> {
    const crashed = pathOf(name);
    await opened(path, async (storage) => {
      await addMerchant(storage, { name: "In the log" });
      for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
    });
    return crashed;
  }

  test("replaces the database, also by a symbolic link, and keeps the old one, complete", async () => {
    symlinkSync(path, pathOf("link.db"));
    expect(await restore({ to: pathOf("link.db") })).toEqual({ version: VERSION, kept: `${path}.old` });
    for (const name of ["server.db", "link.db", "backup.db"]) expect(await namesIn(pathOf(name))).toEqual(["Before"]);
    expect(await namesIn(`${path}.old`)).toEqual(["Before", "After"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.restoring`)).toBe(false);
  });

  test("what a rail may have been asked since the backup is in doubt, and what is repeated is the same payment", async () => {
    const [merchantId] = await opened(path, async (storage) => (await storage.listMerchants()).map(({ id }) => id));
    const pay = (merchantsReference: string) =>
      opened(path, async (storage) => {
        const draft = pendingOn("mobile", merchantId!, { merchantsReference });
        return (await storage.insertDisbursement(draft)).record.reference;
      });
    const waiting = await pay("waiting");
    rmSync(backup);
    await backupUnused(path, backup);
    const lost = await pay("lost");
    await restore();
    expect(await pay("lost")).toBe(lost);
    const claims = await opened(path, async (storage) => {
      const lanes = await storage.handoverLanes({ limit: 1 });
      return storage.claimHandovers([{ ...lanes[0]!, count: 9 }], 1_000);
    });
    const doubts = [
      [waiting, 0],
      [lost, undefined],
    ] as const;
    expect(new Map(claims.map((claim) => [claim.id, claim.askedAgoMs]))).toEqual(new Map(doubts));
  });

  test("replaces a damaged database after confirmation, and never applies its log to the backup", async () => {
    const crashed = await crashAs("crashed.db");
    writeFileSync(crashed, "damaged ".repeat(1_000));
    await expect(restore({ replace: false, to: crashed })).rejects.toThrow(/crashed\.db exists\. Add --replace /);
    await restore({ to: crashed });
    expect(readFileSync(`${crashed}.old`, "utf8")).toMatch(/^damaged /);
    expect(statSync(`${crashed}.old-wal`).size).toBeGreaterThan(0);
    expect(await namesIn(crashed)).toEqual(["Before"]);
  });

  test("the log of a crashed server is in the kept file; without its database it is not applied to the backup, which needs no confirmation", async () => {
    const crashed = await crashAs("crashed.db");
    const moved = pathOf("moved.db");
    copyFileSync(`${crashed}-wal`, `${moved}-wal`);
    await restore({ to: crashed });
    expect(await namesIn(`${crashed}.old`)).toEqual(["Before", "After", "In the log"]);
    expect(await restore({ replace: false, to: moved })).toEqual({ version: VERSION });
    expect(await namesIn(moved)).toEqual(["Before"]);
  });

  test.each<[string, (file: string) => void, RegExp]>([
    ["missing", (file) => rmSync(file), /is no usable backup: ENOENT/],
    ["no database", (file) => writeFileSync(file, "text ".repeat(500)), /is no usable backup: .*not a database/],
    ["empty", (file) => writeFileSync(file, ""), /is no usable backup: it is empty\. Name another file\.$/],
    ["a folder", (file) => (rmSync(file), mkdirSync(file)), /is no usable backup: /],
    ["of another program", (file) => execute("DROP TABLE server; PRAGMA user_version = 0", file), /of another program/],
    ["in use", (file) => writeFileSync(`${file}-wal`, ""), /is no usable backup: a program uses it, or has crashed/],
    ["newer", (file) => execute("PRAGMA user_version = 999", file), /schema version 999; this server supports/],
    ["damaged", (file) => damage("disbursements", file), /backup\.db is damaged: Tree .+ Use an undamaged copy\.$/],
    [
      "the database itself",
      (file) => (rmSync(file), symlinkSync(path, file)),
      /backup\.db is the database of DATABASE_URL itself/,
    ],
  ])("refuses a backup that is %s, and changes nothing", async (_, change, message) => {
    change(backup);
    await expect(restore()).rejects.toThrow(message);
    expect(await namesIn(path)).toEqual(["Before", "After"]);
    expect(existsSync(`${path}.old`)).toBe(false);
  });

  test("a backup to a disk that becomes full leaves nothing behind, and a later one succeeds", async ({ skip }) => {
    const disk = mountSmallDisk() ?? skip("mounting a disk needs Linux and root");
    onTestFinished(() => disk.close());
    const before = readdirSync(disk.folder);
    const file = `${disk.folder}/copy.db`;
    disk.fill();
    await expect(backupUnused(path, file)).rejects.toThrow(/^The backup of .+ failed: .*(full|ENOSPC)/);
    disk.empty();
    expect(readdirSync(disk.folder)).toEqual(before);
    await backupUnused(path, file);
    expect(statSync(file).size).toBeGreaterThan(50_000);
  });
});
