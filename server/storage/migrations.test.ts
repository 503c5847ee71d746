import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useFolder } from "../testing/places.ts";
import { missingMigrations, readMigrations } from "./migrations.ts";
import { migrate, schemaOf } from "./sqlite/migrate.ts";

const pathOf = useFolder();

const read = (...names: string[]) => {
  for (const name of names) writeFileSync(pathOf(name), `-- ${name}`);
  return readMigrations(pathToFileURL(pathOf("/")));
};

describe("migrations of a folder", () => {
  test("are the SQL files in the order of their numbers, of which a schema lacks the last", () => {
    const [first, second] = ["001-first.sql", "002-next.sql"].map((name, index) => ({
      version: index + 1,
      name,
      sql: `-- ${name}`,
    }));
    const all = read("002-next.sql", "001-first.sql", "README.md");
    expect([0, 1, 2].map((version) => missingMigrations(all, version))).toEqual([[first, second], [second], []]);
    expect(() => missingMigrations(all, 3)).toThrow(/schema version 3; this server supports versions up to 2/);
  });

  test.each([[["001-a.sql", "003-c.sql"]], [["001-a.sql", "001-b.sql"]], [["002-b.sql"]], [["a.sql"]]])(
    "are refused with gaps, duplicates and names without a number: %j",
    (names) => {
      expect(() => read(...names)).toThrow(/is out of order/);
    },
  );
});

describe("a migration of SQLite", () => {
  const MIGRATIONS = readMigrations(new URL("sqlite/migrations/", import.meta.url));
  const latest = MIGRATIONS.length;
  const next = (...statements: string[]) => [
    ...MIGRATIONS,
    ...statements.map((sql, index) => ({ version: latest + index + 1, name: "next.sql", sql })),
  ];
  let db: DatabaseSync;
  beforeEach(() => {
    db = new DatabaseSync(":memory:");
  });
  afterEach(() => db.close());
  const schema = () => [
    db.prepare("PRAGMA user_version").get(),
    db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all(),
  ];

  test("applies what a database lacks, once, and all of it or nothing", () => {
    expect(migrate(db)).toEqual({ from: 0, to: latest });
    expect(migrate(db)).toEqual({ from: latest, to: latest });
    const before = schema();
    expect(() => migrate(db, next("CREATE TABLE a (b)", "CREATE TABLE a (b)"))).toThrow("already exists");
    expect(schema()).toEqual(before);
    expect(migrate(db, next("CREATE TABLE a (b)", "CREATE TABLE c (d)"))).toEqual({ from: latest, to: latest + 2 });
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('a', 'c')").all()).toHaveLength(2);
  });

  test.each([1, 41])("refuses a database of a development version, such as %i", (version) => {
    db.exec(`CREATE TABLE disbursements (id TEXT); PRAGMA user_version = ${version}`);
    const before = schema();
    for (const use of [migrate, schemaOf]) expect(() => use(db)).toThrow(/^A development version made the database, /);
    expect(schema()).toEqual(before);
  });

  test("refuses a database whose first migration lacked a column that it has today, in any table", () => {
    migrate(db);
    for (const [table, column] of [
      ["merchants", "resetting"],
      ["events", "leased_until"],
    ]) {
      db.exec(`ALTER TABLE ${table} RENAME COLUMN ${column} TO other`);
      expect(() => migrate(db)).toThrow(/^A development version made the database, /);
      db.exec(`ALTER TABLE ${table} RENAME COLUMN other TO ${column}`);
    }
    expect(migrate(db)).toEqual({ from: latest, to: latest });
  });
});
