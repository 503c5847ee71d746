// Folders and databases for the tests of a file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "./postgres.ts";

/** Gives each test a folder. Returns a function that returns the path of a name in it. */
export function useFolder(): (...names: string[]) => string {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "test-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  return (...names) => join(folder, ...names);
}

/** Gives all tests of a file, or of a `describe`, a database of their own, which is empty at first. */
export function useDatabase(server = POSTGRES_SERVERS.PostgreSQL!): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase(await server()));
  });
  afterAll(() => database.drop());
  return database;
}
