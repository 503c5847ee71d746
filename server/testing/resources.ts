// What a test, or the tests of a file, use only for themselves: folders, databases and processes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";
import { createTestDatabase, type TestDatabase } from "./postgres.ts";
import { KEY, startProcess, type Limits, type ServerProcess } from "./process.ts";

/** Makes an empty folder, which is removed after the test, also if the test or its `beforeEach` fails. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Gives each test a folder. Returns a function that returns the path of a name in it. */
export function useFolder(): (...names: string[]) => string {
  let folder = "";
  beforeEach(() => {
    folder = testFolder();
  });
  return (...names) => join(folder, ...names);
}

/** Gives all tests of a file, or of a `describe`, a database of their own, which is empty at first. */
export function useDatabase(): TestDatabase {
  const database = {} as TestDatabase;
  beforeAll(async () => {
    Object.assign(database, await createTestDatabase());
  });
  afterAll(() => database.drop());
  return database;
}

/** Creates an empty database, which is dropped after the test. */
export async function testDatabase(server?: string): Promise<TestDatabase> {
  const database = await createTestDatabase(server);
  onTestFinished(database.drop);
  return database;
}

/**
 * Starts a server as `startProcess` does, and ends it after the test: by default with the first merchant's key KEY, on an
 * empty SQLite file.
 */
export async function startTestServer(env: NodeJS.ProcessEnv = {}, limits?: Limits) {
  const DATABASE_URL = env.DATABASE_URL ?? `sqlite:${join(testFolder(), "server.db")}`;
  const server = await startProcess({ SANDBOX_API_KEY: KEY, ...env, DATABASE_URL }, limits);
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await server.ended;
  });
  return server;
}

/** Stops a server, which must end by itself. */
export async function stop({ kill, ended }: ServerProcess) {
  kill("SIGTERM");
  const { code, ...printed } = await ended;
  if (code !== 0) throw new Error(`The server ended with ${code}: ${printed.stderr}`);
  return printed;
}
