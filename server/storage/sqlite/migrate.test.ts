import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMigrations } from "../migrations.ts";
import { openDatabase } from "./database.ts";
import { migrate, migrateSqlite, schemaOf } from "./migrate.ts";

const MIGRATIONS = readMigrations(new URL("migrations/", import.meta.url));
const next = (...statements: string[]) => [
  ...MIGRATIONS,
  ...statements.map((sql, index) => ({ version: MIGRATIONS.length + index + 1, name: "next.sql", sql })),
];
let db: DatabaseSync;
beforeEach(() => {
  db = new DatabaseSync(":memory:");
});
afterEach(() => db.close());

const latest = MIGRATIONS.length;
const schema = () => [
  db.prepare("PRAGMA user_version").get(),
  db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all(),
];

test("applies the migrations that a database lacks, once", () => {
  expect(migrate(db)).toEqual({ from: 0, to: latest });
  expect(migrate(db)).toEqual({ from: latest, to: latest });
  expect(migrate(db, next("CREATE TABLE a (b)", "CREATE TABLE c (d)"))).toEqual({ from: latest, to: latest + 2 });
  expect(db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('a', 'c')").all()).toHaveLength(2);
});

test("if one migration fails, none is applied", () => {
  migrate(db);
  const before = schema();
  expect(() => migrate(db, next("CREATE TABLE a (b)", "CREATE TABLE a (b)"))).toThrow("already exists");
  expect(schema()).toEqual(before);
});

test("refuses a file that another program uses", () => {
  const folder = mkdtempSync(join(tmpdir(), "migrate-"));
  const path = join(folder, "server.db");
  const other = openDatabase(path);
  expect(() => migrateSqlite(path)).toThrow(/^Another server or command is using .+server\.db\. Stop it, /);
  other.close();
  expect(migrateSqlite(path)).toEqual({ from: 0, to: latest });
  rmSync(folder, { recursive: true });
});

test("refuses a database of a development version, whatever its number is", () => {
  db.exec("CREATE TABLE customers (id TEXT)");
  for (const version of [1, 41]) {
    db.exec(`PRAGMA user_version = ${version}`);
    const before = schema();
    for (const use of [migrate, schemaOf]) expect(() => use(db)).toThrow(/^A development version made the database, /);
    expect(schema()).toEqual(before);
  }
});
