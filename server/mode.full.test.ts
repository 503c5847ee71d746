// A database belongs to a sandbox or to a live service, for ever (D80).
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "./testing/own-postgres.ts";
import { createTestDatabase, type TestDatabase } from "./testing/postgres.ts";
import { LIVE, runCommand, runServer, startProcess, type Ended, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";

const KEY = "a-key-for-tests-of-the-mode";
const SANDBOX = { SANDBOX: "true" };
const COMMANDS = [
  ["keys", "create-merchant", "Eve"],
  ["keys", "dashboard-link"],
  ["db", "status"],
  ["db", "migrate"],
  ["db", "prune", "--older-than", "1d"],
];

/** A live server starts only on a database with durable settings. */
let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await startOwnPostgres("durable");
});
afterAll(() => postgres.close());

let folder: string;
let path: string;
const running: ServerProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mode-"));
  path = join(folder, "server.db");
});
afterEach(async () => {
  for (const server of running.splice(0)) await stop(server, "SIGKILL");
  rmSync(folder, { recursive: true });
});

async function start(env: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const server = await startProcess({ SANDBOX_API_KEY: KEY, ...env });
  running.push(server);
  return server;
}
async function stop(server: ServerProcess, signal: NodeJS.Signals = "SIGTERM") {
  server.kill(signal);
  await server.ended;
}
/** Expects that a server or command ended without doing anything. */
function expectRefused({ code, stdout, stderr }: Ended, reason: RegExp) {
  expect([code === 0, stdout, stderr]).toEqual([false, "", expect.stringMatching(reason)]);
  expect(stderr).toMatch(
    /Set SANDBOX=(true|false)[^]* set DATABASE_URL to another database\. Nothing was changed\.\n$/,
  );
  expect(stderr).not.toMatch(/\n\s+at /);
}
/** Makes a payout. */
async function pay(server: ServerProcess): Promise<string> {
  const { status, body } = await server.client(KEY).request("POST", "/v1/disbursements", { body: aPayout() });
  expect(status).toBe(200);
  return body.data.reference;
}

const atPath = () => ({ DATABASE_URL: `sqlite:${path}` });
async function backupOf(mode: NodeJS.ProcessEnv, name: string): Promise<string> {
  const DATABASE_URL = `sqlite:${join(folder, `${name}.db`)}`;
  await stop(await start({ DATABASE_URL, ...mode }));
  const file = join(folder, `${name}.backup`);
  expect((await runCommand({ DATABASE_URL }, "db", "backup", file)).code).toBe(0);
  return file;
}

const LIVE_DATABASE =
  /^The database belongs to a live service, and SANDBOX=true asks for a sandbox, which could delete/;
const NOT_SET = /^The database belongs to a live service, and SANDBOX is not set, which starts a sandbox\. /;
const SANDBOX_DATABASE = /^The database belongs to a sandbox, and SANDBOX=false asks for a live service\. /;
const UNDECIDED = /^The database has merchants, and no server has stored whether it belongs to /;

const hashOf = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

interface Place {
  env: { DATABASE_URL: string };
  /** Everything that is stored. */
  contents(): Promise<unknown>;
  run(sql: string): Promise<void>;
  close(): Promise<void>;
}

async function sqlitePlace(): Promise<Place> {
  const use = <T>(work: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  return {
    env: { DATABASE_URL: `sqlite:${path}` },
    contents: async () =>
      readdirSync(folder)
        .filter((name) => statSync(join(folder, name)).isFile())
        .toSorted()
        .map((name) => [name, hashOf(join(folder, name))]),
    run: async (sql) => use((db) => db.exec(sql)),
    close: async () => undefined,
  };
}

async function postgresPlace(): Promise<Place> {
  const database: TestDatabase = await createTestDatabase(postgres.url);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const list = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  return {
    env: { DATABASE_URL: database.url },
    async contents() {
      const tables = await list("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
      const contents: unknown[] = [];
      for (const { tablename: name } of tables) contents.push(name, await list(`SELECT * FROM ${String(name)}`));
      return contents;
    },
    run: async (sql) => void (await client.query(sql)),
    async close() {
      await client.end();
      await database.drop();
    },
  };
}

describe.each([
  ["SQLite", sqlitePlace],
  ["PostgreSQL", postgresPlace],
] as const)("%s", (_, create) => {
  let place: Place;
  beforeEach(async () => {
    place = await create();
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await stop(server, "SIGKILL");
    await place.close();
  });
  const serve = (env: NodeJS.ProcessEnv) => runServer({ SANDBOX_API_KEY: KEY, ...place.env, ...env });
  const command = (env: NodeJS.ProcessEnv, args: readonly string[]) => runCommand({ ...place.env, ...env }, ...args);

  test("a live database opens live only", async () => {
    const first = await start({ ...place.env, ...LIVE });
    const reference = await pay(first);
    await stop(first);

    const before = await place.contents();
    expectRefused(await serve({}), NOT_SET);
    expectRefused(await serve(SANDBOX), LIVE_DATABASE);
    for (const args of COMMANDS) expectRefused(await command(SANDBOX, args), LIVE_DATABASE);
    expect(await place.contents()).toEqual(before);

    expect(JSON.parse((await command({}, ["db", "status", "--json"])).stdout)).toMatchObject({ mode: "live" });
    for (const env of [{}, { SANDBOX: "false" }]) expect((await command(env, ["keys", "list"])).code).toBe(0);
    const plain = await command({ PUBLIC_URL: "http://pay.example" }, ["keys", "dashboard-link"]);
    expect(plain.stderr).toMatch(/^A live server serves no dashboard over plain http/);
    const again = await start({ ...place.env, ...LIVE });
    const { status } = await again.client(KEY).request("GET", `/v1/disbursements/${reference}`);
    expect(status).toBe(200);
    const reset = await fetch(`${again.url}/sandbox/reset`, { method: "POST", headers: { "x-api-key": KEY } });
    expect(reset.status).toBe(404);
  });

  test("a sandbox's database opens as a sandbox only", async () => {
    await stop(await start(place.env));
    const before = await place.contents();
    expectRefused(await serve(LIVE), SANDBOX_DATABASE);
    expectRefused(await command({ SANDBOX: "false" }, COMMANDS[0]!), SANDBOX_DATABASE);
    expect(await place.contents()).toEqual(before);
    expect(JSON.parse((await command({}, ["db", "status", "--json"])).stdout)).toMatchObject({ mode: "sandbox" });
    for (const env of [{}, SANDBOX]) await stop(await start({ ...place.env, ...env }));
  });

  test("a database with merchants that stores no mode needs an explicit first start", async () => {
    expect((await command({}, ["keys", "create-merchant", "Ada"])).code).toBe(0);
    const before = await place.contents();
    expectRefused(await serve({}), UNDECIDED);
    expect(await place.contents()).toEqual(before);
    await stop(await start({ ...place.env, ...LIVE }));
    expectRefused(await serve({}), NOT_SET);
  });
});

describe("PostgreSQL", () => {
  let place: Place;
  beforeEach(async () => {
    place = await postgresPlace();
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await stop(server, "SIGKILL");
    await place.close();
  });

  test("a process in the other mode cannot join", async () => {
    const live = await start({ ...place.env, ...LIVE });
    expectRefused(await runServer({ ...place.env, ...SANDBOX }), LIVE_DATABASE);
    expectRefused(await runServer({ ...place.env, ROLE: "worker" }), NOT_SET);
    await start({ ...place.env, ...LIVE });
    expect(await pay(live)).toMatch(/^DSB/);
  });

  test("of processes in different modes that start at once on an empty database, those of one mode run", async () => {
    const modes = [SANDBOX, LIVE, SANDBOX, LIVE];
    const results = await Promise.allSettled(
      modes.map((mode) => start({ ...place.env, ...mode, SANDBOX_API_KEY: "" })),
    );
    const started = modes.filter((_, index) => results[index]!.status === "fulfilled");
    const { stdout } = await runCommand(place.env, "db", "status", "--json");
    const winner = JSON.parse(stdout).mode === "live" ? LIVE : SANDBOX;
    expect(started).toEqual([winner, winner]);
    for (const result of results) {
      if (result.status === "rejected") expect(String(result.reason)).toMatch(/The database belongs to a .+ SANDBOX=/);
    }
  });
});

describe("a rail", () => {
  const { RAILS } = LIVE;

  test("is what a live server needs, and a sandbox refuses", async () => {
    const results = [
      [{ SANDBOX: "false" }, /SANDBOX=false starts a live service, which needs a rail, .+ Set RAIL_URL and /],
      [{ RAILS }, /RAILS is set, but the server is a sandbox, which moves no money\. Set SANDBOX=false /],
    ] as const;
    for (const [env, reason] of results) {
      const { code, stdout, stderr } = await runServer({ ...atPath(), ...env });
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(reason)]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is named at the start and in /healthz, and says how a payout ended", async () => {
    const live = await start({ ...atPath(), ...LIVE });
    expect(live.output()).toMatch(/\(live\)\n {2}Money moves over test: every payout /);
    expect(await (await fetch(`${live.url}/healthz`)).json()).toMatchObject({ environment: "live", rail: "test" });
    const reference = await pay(live);
    const record = () => live.client(KEY).request("GET", `/v1/disbursements/${reference}`);
    const status = async () => (await record()).body.data.status;
    await expect.poll(status).toBe("success");
    expect((await record()).body.data.merchant).toEqual({ name: "First Merchant" });
  });
});

describe("backups", () => {
  test("a backup keeps its mode, and replaces no database of the other one", async () => {
    const [live, sandbox] = [await backupOf(LIVE, "live"), await backupOf({}, "sandbox")];
    const restore = (file: string, changes: NodeJS.ProcessEnv = {}) =>
      runCommand({ ...atPath(), ...changes }, "db", "restore", file, "--replace");
    expect((await restore(live, SANDBOX)).stderr).toMatch(
      /^The backup belongs to a live service, but SANDBOX=true asks/,
    );
    expect(readdirSync(folder)).not.toContain("server.db");
    expect((await restore(live)).code).toBe(0);
    expect((await runServer(atPath())).stderr).toMatch(NOT_SET);

    const other = await restore(sandbox);
    expect([other.code, other.stdout]).toEqual([2, ""]);
    expect(other.stderr).toMatch(/^The backup belongs to a sandbox, but the database belongs to a live service\. /);
    expect((await restore(live)).code).toBe(0);
    await stop(await start({ ...atPath(), ...LIVE }));
  });

  test("a backup from before the first start gets the mode of the database that it replaces", async () => {
    const old = join(folder, "old.backup");
    expect((await runCommand({ DATABASE_URL: `sqlite:${old}` }, "keys", "create-merchant", "Ada")).code).toBe(0);
    await stop(await start({ ...atPath(), ...LIVE }));
    expect((await runCommand(atPath(), "db", "restore", old, "--replace")).code).toBe(0);
    const { stdout } = await runCommand(atPath(), "db", "status", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ mode: "live" });
    expectRefused(await runServer({ ...atPath(), ...SANDBOX }), LIVE_DATABASE);
    await stop(await start({ ...atPath(), ...LIVE }));
    expectRefused(await runServer(atPath()), NOT_SET);
  });

  test("a copy in PostgreSQL has the mode of the original", async () => {
    const place = await postgresPlace();
    await stop(await start({ ...atPath(), ...LIVE }));
    const copy = { ...atPath(), DATABASE_URL_TO: place.env.DATABASE_URL };
    expectRefused(await runCommand({ ...copy, ...SANDBOX }, "db", "copy"), LIVE_DATABASE);
    expect((await runCommand(copy, "db", "copy")).code).toBe(0);
    expectRefused(await runServer({ ...place.env, ...SANDBOX }), LIVE_DATABASE);
    await place.close();
  });

  test("a database in which a server of the other mode has started takes no copy", async () => {
    const place = await postgresPlace();
    await stop(await start({ ...atPath(), ...LIVE }));
    await stop(await start(place.env));
    await place.run("DELETE FROM api_keys; DELETE FROM merchants; DELETE FROM audit");
    const { code, stderr } = await runCommand({ ...atPath(), DATABASE_URL_TO: place.env.DATABASE_URL }, "db", "copy");
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^The destination is not empty: its table mode has rows/),
    ]);
    await place.close();
  });
});
