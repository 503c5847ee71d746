import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { SCHEMA, SQLITE_MIGRATIONS } from "./schema.ts";
import { migrate } from "./sqlite/database.ts";

test("a migration of SQLite applies what a database lacks, once, and all of it or nothing", () => {
  const latest = SQLITE_MIGRATIONS.length;
  const next = (...statements: string[]) => [
    ...SQLITE_MIGRATIONS,
    ...statements.map((sql) => ({ name: "next.sql", sql })),
  ];
  using db = new DatabaseSync(":memory:");
  const schema = () => [
    db.prepare("PRAGMA user_version").get(),
    db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all(),
  ];
  expect(migrate(db)).toEqual({ from: 0, to: latest });
  expect(migrate(db)).toEqual({ from: latest, to: latest });
  const before = schema();
  expect(() => migrate(db, {}, next("CREATE TABLE a (b)", "CREATE TABLE a (b)"))).toThrow("already exists");
  expect(schema()).toEqual(before);
  expect(migrate(db, {}, next("CREATE TABLE a (b)", "CREATE TABLE c (d)"))).toEqual({ from: latest, to: latest + 2 });
  expect(db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('a', 'c')").all()).toHaveLength(2);
});

test("PostgreSQL has every column of SQLite, so that a copy to it loses nothing", () => {
  using db = new DatabaseSync(":memory:");
  migrate(db);
  const columns = db
    .prepare("SELECT t.name AS of, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'")
    .all();
  const ofSqlite = new Set(["server", "sqlite_sequence"]);
  const missing = columns.filter(
    ({ of, name }) => !ofSqlite.has(String(of)) && !SCHEMA.get(String(of))?.[String(name)],
  );
  expect([missing, columns.length > 100]).toEqual([[], true]);
});
