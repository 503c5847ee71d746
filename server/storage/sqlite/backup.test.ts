import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aFinalDisbursement } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { backupUnused } from "./backup.ts";
import { checkSqlite } from "./check.ts";
import { openSqlite, type SqliteStorage } from "./index.ts";

let folder: string;
let path: string;
let storage: SqliteStorage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "backup-"));
  path = join(folder, "server.db");
  storage = openSqlite(path, { clock: createFakeClock(), server: true });
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

test("a copy of a running server's file has every commit so far, and a server can start on it", async () => {
  const merchant = await addMerchant(storage);
  const file = join(folder, "copy.db");
  await storage.backup(file);
  await addMerchant(storage);
  expect(await storage.listMerchants()).toHaveLength(2);

  const copy = openSqlite(file, { clock: createFakeClock(), server: true });
  expect(await copy.listMerchants()).toEqual([merchant]);
  expect((await copy.listAudit({ limit: 10 })).items).toMatchObject([{ action: "merchant.create" }]);
  await copy.close();
});

test("commits go on while a copy is made, and the copy is sound", async () => {
  const merchant = await addMerchant(storage);
  await Promise.all(Array.from({ length: 2_000 }, () => storage.insertDisbursement(aFinalDisbursement(merchant.id))));
  const file = join(folder, "copy.db");
  let isDone = false;
  const copying = storage.backup(file).finally(() => (isDone = true));
  let meanwhile = 0;
  for (; !isDone; meanwhile += 1) await storage.insertDisbursement(aFinalDisbursement(merchant.id));
  await copying;
  expect(meanwhile).toBeGreaterThan(1);
  expect(checkSqlite(file).findings).toEqual([]);
});

test("replaces no file, not even the database", async () => {
  const merchant = await addMerchant(storage);
  await expect(storage.backup(path)).rejects.toThrow(StorageError);
  await expect(storage.backup(join(folder, "missing", "copy.db"))).rejects.toThrow(
    /^Cannot create .+ Choose another file\.$/,
  );
  expect(await storage.listMerchants()).toEqual([merchant]);
});

test.each<[string, (source: string) => void]>([
  ["is a folder", (source) => mkdirSync(source)],
  ["is no database", (source) => writeFileSync(source, "no database, but longer than a header. ".repeat(100))],
  ["is empty", (source) => writeFileSync(source, "")],
])("a source that %s leaves no file behind", async (_, make) => {
  const source = join(folder, "source.db");
  make(source);
  const before = readdirSync(folder);
  await expect((async () => backupUnused(source, join(folder, "copy.db")))()).rejects.toThrow(StorageError);
  expect(readdirSync(folder)).toEqual(before);
});

test("a backup is complete and private from its first moment under its name, and leaves no other file", async () => {
  const file = join(folder, "copy.db");
  await storage.backup(file);
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
  expect([statSync(file).mode & 0o777, statSync(file).nlink]).toEqual([0o600, 1]);
});

test("an existing file keeps its content", async () => {
  const file = join(folder, "precious");
  writeFileSync(file, "precious");
  await expect(storage.backup(file)).rejects.toThrow(/^Cannot create .+: it exists\. Choose another file\.$/);
  expect(readFileSync(file, "utf8")).toBe("precious");
});
