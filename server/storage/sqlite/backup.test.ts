import { mkdtempSync, rmSync } from "node:fs";
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
