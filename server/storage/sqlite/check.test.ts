import { closeSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFakeClock } from "../../testing/clock.ts";
import { addMerchant, aFinalDisbursement } from "../../testing/storage/fixtures.ts";
import { checkSqlite } from "./check.ts";
import { openSqlite } from "./index.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "check-"));
  path = join(folder, "server.db");
  const storage = openSqlite(path, { clock: createFakeClock(), server: true });
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

test.each<[string, () => unknown]>([
  ["a damaged table", () => damage("disbursements")],
  ["a damaged index", () => damage("events")],
  ["a cut-off file", () => truncateSync(path, statSync(path).size - 5 * PAGE)],
])("a check finds %s", (_, harm) => {
  harm();
  expect(checkSqlite(path).findings.length).toBeGreaterThan(0);
});

test("a check of a sound database finds nothing", () => {
  expect(checkSqlite(path)).toEqual({ findings: [], pages: expect.any(Number) });
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
