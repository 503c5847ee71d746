import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { mountSmallDisk } from "../../testing/small-disk.ts";
import { addMerchant, aDisbursement } from "../../testing/storage/fixtures.ts";
import { backupUnused } from "./backup.ts";
import { openSqlite } from "./index.ts";
import { restoreSqlite } from "./restore.ts";

const VERSION = expect.any(Number);
let folder: string;
let path: string;
let backup: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "restore-"));
  path = join(folder, "server.db");
  backup = join(folder, "backup.db");
  await addAt(path, "Before");
  await backupUnused(path, backup);
  await addAt(path, "After");
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (at: string) => openSqlite(at, { clock: createFakeClock(), server: true });
async function addAt(at: string, name: string): Promise<void> {
  const storage = open(at);
  await addMerchant(storage, { name });
  await storage.close();
}
async function namesIn(at: string): Promise<string[]> {
  const storage = open(at);
  const names = (await storage.listMerchants()).map(({ name }) => name);
  await storage.close();
  return names;
}
const restore = ({ replace = true, from = backup, to = path } = {}) =>
  restoreSqlite(to, from, { replace, suffix: "old" });

test("replaces the database and keeps the old one, complete", async () => {
  expect(await restore()).toEqual({ version: VERSION, kept: `${path}.old` });
  expect(await namesIn(path)).toEqual(["Before"]);
  expect(await namesIn(`${path}.old`)).toEqual(["Before", "After"]);
  expect(await namesIn(backup)).toEqual(["Before"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}.restoring`)).toBe(false);
});

test("what a rail may have been asked since the backup is in doubt, and what is repeated is the same payment", async () => {
  const pay = async (merchantId: string, merchantsReference: string) => {
    const storage = open(path);
    const { due: _, ...draft } = aDisbursement(merchantId, { merchantsReference, rail: "mobile" });
    const { record } = await storage.insertDisbursement(draft);
    await storage.close();
    return record.reference;
  };
  const storage = open(path);
  const { id } = (await storage.listMerchants())[0]!;
  await storage.close();
  const waiting = await pay(id, "waiting");
  rmSync(backup);
  await backupUnused(path, backup);
  const lost = await pay(id, "lost");
  await restore();
  expect(await pay(id, "lost")).toBe(lost);
  const restored = open(path);
  const lanes = await restored.handoverLanes({ limit: 1 });
  const claims = await restored.claimHandovers(
    lanes.map((lane) => ({ ...lane, count: 9 })),
    1_000,
  );
  expect(new Map(claims.map((claim) => [claim.id, claim.askedAgoMs]))).toEqual(
    new Map([
      [waiting, 0],
      [lost, undefined],
    ]),
  );
  await restored.close();
});

test("a missing or empty database needs no confirmation", async () => {
  const missing = join(folder, "new", "server.db");
  const restoring = restore({ replace: false, to: missing });
  // A server that started now would write payments into a file that is about to be replaced.
  expect(() => open(missing)).toThrow(/^Another server or command is using /);
  expect(await restoring).toEqual({ version: VERSION });
  expect(await namesIn(missing)).toEqual(["Before"]);
  const empty = join(folder, "empty.db");
  writeFileSync(empty, "");
  expect(await restore({ replace: false, to: empty })).toMatchObject({ kept: `${empty}.old` });
  const unused = join(folder, "unused.db");
  await open(unused).close();
  await restore({ replace: false, to: unused });
  for (const each of [empty, unused]) expect(await namesIn(each)).toEqual(["Before"]);
});

test("refuses to replace data without confirmation", async () => {
  await expect(restore({ replace: false })).rejects.toThrow(
    /server\.db has data\. Add --replace .+ kept under another name\.$/,
  );
  expect(await namesIn(path)).toEqual(["Before", "After"]);
});

test("a symbolic link still leads to the database", async () => {
  const link = join(folder, "link.db");
  symlinkSync(path, link);
  expect(await restore({ to: link })).toMatchObject({ kept: `${path}.old` });
  expect(await namesIn(link)).toEqual(["Before"]);
  expect(await namesIn(path)).toEqual(["Before"]);
});

test("refuses while another program uses the database", async () => {
  const server = open(path);
  await expect(restore()).rejects.toThrow(/^Another server or command is using .+\. Stop it/);
  await server.close();
  expect(await namesIn(path)).toEqual(["Before", "After"]);
  expect(readdirSync(folder).filter((name) => /old|restoring/.test(name))).toEqual([]);
});

test("replaces a damaged database after confirmation, and never applies its log to the backup", async () => {
  const storage = open(path);
  await addMerchant(storage, { name: "In the log" });
  const crashed = join(folder, "crashed.db");
  for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
  await storage.close();
  writeFileSync(crashed, "damaged ".repeat(1_000));
  await expect(restore({ replace: false, to: crashed })).rejects.toThrow(/crashed\.db is damaged\. Add --replace /);
  await restore({ to: crashed });
  expect(readFileSync(`${crashed}.old`, "utf8")).toMatch(/^damaged /);
  expect(statSync(`${crashed}.old-wal`).size).toBeGreaterThan(0);
  expect(await namesIn(crashed)).toEqual(["Before"]);
});

test("a log whose database was moved away is not applied to the backup", async () => {
  const storage = open(path);
  await addMerchant(storage, { name: "In the log" });
  const moved = join(folder, "moved.db");
  copyFileSync(`${path}-wal`, `${moved}-wal`);
  await storage.close();
  expect(await restore({ replace: false, to: moved })).toEqual({ version: VERSION });
  expect(await namesIn(moved)).toEqual(["Before"]);
});

test("what the log of a crashed server contains is in the kept file", async () => {
  const storage = open(path);
  await addMerchant(storage, { name: "In the log" });
  const crashed = join(folder, "crashed.db");
  for (const end of ["", "-wal"]) copyFileSync(path + end, crashed + end);
  await storage.close();
  await restore({ to: crashed });
  expect(await namesIn(`${crashed}.old`)).toEqual(["Before", "After", "In the log"]);
});

test.each<[string, (file: string) => void, RegExp]>([
  ["missing", (file) => rmSync(file), /^There is no backup at .+backup\.db\.$/],
  ["no database", (file) => writeFileSync(file, "text ".repeat(500)), /is no usable backup: .*not a database/],
  ["empty", (file) => writeFileSync(file, ""), /is no usable backup: it is empty\. Name another file\.$/],
  ["a folder", (file) => (rmSync(file), mkdirSync(file)), /is no usable backup: /],
  ["of another program", (file) => execute(file, "DROP TABLE server; PRAGMA user_version = 0"), /of another program/],
  ["newer", (file) => execute(file, "PRAGMA user_version = 999"), /schema version 999; this server supports/],
  ["of a development version", (file) => execute(file, "CREATE TABLE customers (id)"), /^A development version made /],
  ["damaged", damage, /backup\.db is damaged: Tree .+ Use an undamaged copy\.$/],
])("refuses a backup that is %s, and changes nothing", async (_, change, message) => {
  change(backup);
  await expect(restore()).rejects.toThrow(message);
  expect(await namesIn(path)).toEqual(["Before", "After"]);
  expect(existsSync(`${path}.old`)).toBe(false);
});

test("refuses the database itself as its backup", async () => {
  await expect(restore({ from: path })).rejects.toThrow(/is the database of DATABASE_URL itself/);
  await expect(restoreSqlite(":memory:", backup, { replace: true, suffix: "old" })).rejects.toThrow(/names no file/);
});

test("a backup to a disk that becomes full leaves nothing behind, and a later one succeeds", async ({ skip }) => {
  const disk = mountSmallDisk() ?? skip("mounting a disk needs Linux, root and a loop device");
  onTestFinished(() => disk.close());
  const before = readdirSync(disk.folder);
  const file = join(disk.folder, "copy.db");
  disk.fill();
  await expect(backupUnused(path, file)).rejects.toThrow(/^(The backup of .+ failed: .*full|Cannot create .+ENOSPC)/);
  disk.empty();
  expect(readdirSync(disk.folder)).toEqual(before);
  await backupUnused(path, file);
  expect(statSync(file).size).toBeGreaterThan(50_000);
});

function execute(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
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
