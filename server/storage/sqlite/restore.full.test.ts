import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { useFolder } from "../../testing/places.ts";
import { mountSmallDisk } from "../../testing/small-disk.ts";
import { addMerchant, pendingOn } from "../../testing/storage/fixtures.ts";
import { backupUnused, restoreSqlite } from "./backup.ts";
import { openSqlite, type SqliteStorage } from "./index.ts";

const VERSION = expect.any(Number);
const pathOf = useFolder();
let path: string;
let backup: string;
beforeEach(async () => {
  path = pathOf("server.db");
  backup = pathOf("backup.db");
  await addAt(path, "Before");
  await backupUnused(path, backup);
  await addAt(path, "After");
});

const open = (at: string) => openSqlite(at, { clock: createFakeClock(), server: true });
/** Opens the storage, and closes it after the work. */
function opened<T>(at: string, work: (storage: SqliteStorage) => Promise<T>): Promise<T> {
  const storage = open(at);
  return work(storage).finally(() => storage.close());
}
const addAt = (at: string, name: string) => opened(at, (storage) => addMerchant(storage, { name }));
const namesIn = (at: string) => opened(at, async (storage) => (await storage.listMerchants()).map(({ name }) => name));
const restore = ({ replace = true, from = backup, to = path } = {}) =>
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

test("a missing database needs no confirmation", async () => {
  const missing = pathOf("new", "server.db");
  const restoring = restore({ replace: false, to: missing });
  // A server that started now would write payments into a file that is about to be replaced.
  expect(() => open(missing)).toThrow(/^Another server or command is using /);
  expect(await restoring).toEqual({ version: VERSION });
  expect(await namesIn(missing)).toEqual(["Before"]);
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

test("the log of a crashed server is in the kept file; without its database it is not applied to the backup", async () => {
  const crashed = await crashAs("crashed.db");
  const moved = pathOf("moved.db");
  copyFileSync(`${crashed}-wal`, `${moved}-wal`);
  await restore({ to: crashed });
  expect(await namesIn(`${crashed}.old`)).toEqual(["Before", "After", "In the log"]);
  expect(await restore({ replace: false, to: moved })).toEqual({ version: VERSION });
  expect(await namesIn(moved)).toEqual(["Before"]);
});

test.each<[string, (file: string) => void, RegExp]>([
  ["missing", (file) => rmSync(file), /^There is no backup at .+backup\.db\.$/],
  ["no database", (file) => writeFileSync(file, "text ".repeat(500)), /is no usable backup: .*not a database/],
  ["empty", (file) => writeFileSync(file, ""), /is no usable backup: it is empty\. Name another file\.$/],
  ["a folder", (file) => (rmSync(file), mkdirSync(file)), /is no usable backup: /],
  ["of another program", (file) => execute(file, "DROP TABLE server; PRAGMA user_version = 0"), /of another program/],
  ["newer", (file) => execute(file, "PRAGMA user_version = 999"), /schema version 999; this server supports/],
  ["damaged", damage, /backup\.db is damaged: Tree .+ Use an undamaged copy\.$/],
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
  await expect(backupUnused(path, file)).rejects.toThrow(/^(The backup of .+ failed: .*full|Cannot create .+ENOSPC)/);
  disk.empty();
  expect(readdirSync(disk.folder)).toEqual(before);
  await backupUnused(path, file);
  expect(statSync(file).size).toBeGreaterThan(50_000);
});

function execute(file: string, sql: string): void {
  using db = new DatabaseSync(file);
  db.exec(sql);
}

/** Overwrites the first page of an index, as a fault of a disk could. */
function damage(file: string): void {
  const db = new DatabaseSync(file);
  const size = db.prepare("PRAGMA page_size").get()!.page_size as number;
  const index = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'disbursements_due'").get()!;
  db.close();
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(size, 0xff), 0, size, ((index.rootpage as number) - 1) * size);
  closeSync(descriptor);
}
