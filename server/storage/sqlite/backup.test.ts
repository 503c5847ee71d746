import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Storage } from "../../domain/storage.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { backupSqlite } from "./backup.ts";
import { openSqlite } from "./index.ts";

let folder: string;
let path: string;
let storage: Storage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "backup-"));
  path = join(folder, "server.db");
  storage = openSqlite(path, { clock: createFakeClock(), server: true });
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

test("a copy made beside a running server has every commit so far, and a server can start on it", async () => {
  const merchant = await addMerchant(storage);
  const file = join(folder, "copy.db");
  backupSqlite(path, file);
  await addMerchant(storage);
  expect(await storage.listMerchants()).toHaveLength(2);

  const copy = openSqlite(file, { clock: createFakeClock(), server: true });
  expect(await copy.listMerchants()).toEqual([merchant]);
  expect((await copy.listAudit({ limit: 10 })).items).toMatchObject([{ action: "merchant.create" }]);
  await copy.close();
});

test("replaces no file, not even the database", async () => {
  const merchant = await addMerchant(storage);
  expect(() => backupSqlite(path, path)).toThrow(StorageError);
  expect(() => backupSqlite(path, join(folder, "missing", "copy.db"))).toThrow(
    /^Cannot create .+ Choose another file\.$/,
  );
  expect(await storage.listMerchants()).toEqual([merchant]);
});

test.each<[string, (source: string) => void]>([
  ["is missing", () => undefined],
  ["is a folder", (source) => mkdirSync(source)],
  ["is no database", (source) => writeFileSync(source, "no database, but longer than a header. ".repeat(100))],
  ["is empty", (source) => writeFileSync(source, "")],
  ["is cut off", (source) => writeFileSync(source, whole(path).subarray(0, 50_000))],
])("a source that %s leaves no file behind", (_, make) => {
  const source = join(folder, "source.db");
  make(source);
  const before = readdirSync(folder);
  expect(() => backupSqlite(source, join(folder, "copy.db"))).toThrow(
    /^The backup of .+source\.db to .+ failed: .+\.$/,
  );
  expect(readdirSync(folder).filter((name) => !before.includes(name))).toEqual([]);
});

/** The content of a database as one file. */
function whole(source: string): Buffer {
  const file = join(folder, "whole.db");
  backupSqlite(source, file);
  return readFileSync(file);
}

test("a backup is complete and private from its first moment under its name, and leaves no other file", () => {
  const file = join(folder, "copy.db");
  backupSqlite(path, file);
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
  expect([statSync(file).mode & 0o777, statSync(file).nlink]).toEqual([0o600, 1]);
});

test("an existing file keeps its content", () => {
  const file = join(folder, "precious");
  writeFileSync(file, "precious");
  expect(() => backupSqlite(path, file)).toThrow(/^Cannot create .+: it exists\. Choose another file\.$/);
  expect(readFileSync(file, "utf8")).toBe("precious");
});
