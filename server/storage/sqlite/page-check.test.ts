// A server starts on a file that was damaged while no server used it.
import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aFinalDisbursement } from "../../testing/storage/fixtures.ts";
import { StorageError } from "../storage-error.ts";
import { backupSqlite } from "./backup.ts";
import { checkSqlite } from "./check.ts";
import { openSqlite } from "./index.ts";
import { checkPages } from "./page-check.ts";

let folder: string;
let path: string;
const open = () => openSqlite(path, { clock: createFakeClock(), server: true });
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "page-check-"));
  path = join(folder, "server.db");
  const storage = open();
  const { id } = await addMerchant(storage);
  await Promise.all(Array.from({ length: 300 }, () => storage.insertDisbursement(aFinalDisbursement(id))));
  await storage.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

const PAGE = 4_096;
function inFile<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** Overwrites the last page of a table or index, because the first page only points to others. */
function damage(table: string) {
  const [{ page }] = inFile((db) =>
    db.prepare("SELECT max(rootpage) AS page FROM sqlite_schema WHERE tbl_name = ?").all(table),
  ) as [{ page: number }];
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(PAGE, 7), 0, PAGE, (page - 1) * PAGE);
  closeSync(file);
}

/**
 * Leaves the files as after `cp backup.db server.db` under a running server and the server's death: a log beside a
 * foreign file.
 */
async function copyOver() {
  const backup = join(folder, "backup.db");
  backupSqlite(path, backup);
  const storage = open();
  const { id } = (await storage.listMerchants())[0]!;
  await Promise.all(Array.from({ length: 300 }, () => storage.insertDisbursement(aFinalDisbursement(id))));
  copyFileSync(`${path}-wal`, join(folder, "log"));
  await storage.close();
  copyFileSync(backup, path);
  copyFileSync(join(folder, "log"), `${path}-wal`);
}

test.each<[string, () => unknown]>([
  ["with a damaged table", () => damage("disbursements")],
  ["with a damaged index", () => damage("events")],
  ["that was cut off", () => truncateSync(path, statSync(path).size - 5 * PAGE)],
  ["that was overwritten with a backup beside the log of a server", copyOver],
])("a server does not start on a file %s, and a check finds the damage", async (_, harm) => {
  await harm();
  expect(open).toThrow(StorageError);
  expect(open).toThrow(/damaged/);
  expect(checkSqlite(path).findings.length).toBeGreaterThan(0);
});

test("a large file is checked by another process, within a limit", () => {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const check = (limitMs: number) => inFile((db) => checkPages(db, path, { smallBytes: 0, limitMs, warn }));
  check(60_000);
  expect(warnings).toEqual([]);
  check(1);
  expect(warnings).toEqual([expect.stringMatching(/^only a part of the database's pages was checked, .+`db check`/)]);
  damage("disbursements");
  expect(() => check(60_000)).toThrow(/server\.db is damaged: .+\. Run `db check` .+ `db restore FILE --replace`\.$/);
});

test("a check of a sound database finds nothing, also beside a server", () => {
  expect(checkSqlite(path)).toEqual({ findings: [], pages: expect.any(Number) });
  const storage = open();
  expect(checkSqlite(path).findings).toEqual([]);
  return storage.close();
});

test.each<[string, string, RegExp]>([
  ["an event without its payout", "DELETE FROM disbursements WHERE rowid = 7", /^1 events of no payout or checkout$/],
  [
    "a key without its merchant",
    "INSERT INTO api_keys (id, merchant_id, hash, hint, created_at) VALUES ('k', 'm', x'00', 'h', 1)",
    /^A row of api_keys refers to a row of merchants/,
  ],
])("a check finds %s, which no page shows", (_, sql, finding) => {
  inFile((db) => db.exec(`PRAGMA foreign_keys = OFF; ${sql}`));
  const findings = checkSqlite(path).findings.filter((each) => !each.startsWith("The entries of merchant "));
  expect(findings).toEqual([expect.stringMatching(finding)]);
});
