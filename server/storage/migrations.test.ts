import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { missingMigrations, readMigrations } from "./migrations.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "migrations-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function withFiles(...names: string[]): URL {
  for (const name of names) writeFileSync(join(folder, name), `-- ${name}`);
  return pathToFileURL(`${folder}/`);
}

test("reads SQL files in the order of their numbers and ignores other files", () => {
  expect(readMigrations(withFiles("002-next.sql", "001-first.sql", "README.md"))).toEqual([
    { version: 1, name: "001-first.sql", sql: "-- 001-first.sql" },
    { version: 2, name: "002-next.sql", sql: "-- 002-next.sql" },
  ]);
});

test.each([[["001-a.sql", "003-c.sql"]], [["001-a.sql", "001-b.sql"]], [["002-b.sql"]], [["a.sql"]]])(
  "refuses gaps, duplicates and names without a number: %j",
  (names) => {
    expect(() => readMigrations(withFiles(...names))).toThrow(/is out of order/);
  },
);

test("returns only the migrations that a schema lacks", () => {
  const all = readMigrations(withFiles("001-a.sql", "002-b.sql"));
  expect(missingMigrations(all, 0)).toEqual(all);
  expect(missingMigrations(all, 1)).toEqual([all[1]]);
  expect(missingMigrations(all, 2)).toEqual([]);
  expect(() => missingMigrations(all, 3)).toThrow(/schema version 3; this server supports versions up to 2/);
});
