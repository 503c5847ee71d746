// A database belongs to a sandbox or to a live service, for ever (D80).
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "./testing/own-postgres.ts";
import { createTestDatabase } from "./testing/postgres.ts";
import { LIVE, runCommand, runServer, type Ended, type ServerProcess } from "./testing/process.ts";
import { aPayout } from "./testing/server.ts";
import { stop, testFolder, testProcess } from "./testing/places.ts";

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
beforeEach(() => {
  folder = testFolder();
  path = join(folder, "server.db");
});

const start = (env: NodeJS.ProcessEnv) => testProcess({ SANDBOX_API_KEY: KEY, ...env });
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

const LIVE_DATABASE = /^The database belongs to a live service, and SANDBOX=true asks for a sandbox\. /;
const NOT_SET = /^The database belongs to a live service, and SANDBOX is not set, which starts a sandbox\. /;
const SANDBOX_DATABASE = /^The database belongs to a sandbox, and SANDBOX=false asks for a live service\. /;
const UNDECIDED = /^The database has merchants, and no server has stored whether it belongs to /;

const hashOf = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

interface Place {
  env: { DATABASE_URL: string };
  /** Everything that is stored. */
  contents(): Promise<unknown>;
}

async function sqlitePlace(): Promise<Place> {
  return {
    env: { DATABASE_URL: `sqlite:${path}` },
    contents: async () =>
      readdirSync(folder)
        .filter((name) => statSync(join(folder, name)).isFile())
        .toSorted()
        .map((name) => [name, hashOf(join(folder, name))]),
  };
}

async function postgresPlace() {
  const database = await createTestDatabase(postgres.url);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  const list = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  return {
    env: { DATABASE_URL: database.url },
    async contents() {
      const tables = await list("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
      const contents: unknown[] = [];
      for (const { tablename: name } of tables) contents.push(name, await list(`SELECT * FROM ${String(name)}`));
      return contents;
    },
    run: (sql: string) => client.query(sql),
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

test("a rail is named at the start and in /healthz, and says how a payout ended", async () => {
  const live = await start({ ...atPath(), ...LIVE });
  expect(live.output()).toMatch(/\(live\)\n {2}Money moves over test: every payout /);
  expect(await (await fetch(`${live.url}/healthz`)).json()).toMatchObject({ environment: "live", rail: "test" });
  const reference = await pay(live);
  const record = () => live.client(KEY).request("GET", `/v1/disbursements/${reference}`);
  const status = async () => (await record()).body.data.status;
  await expect.poll(status).toBe("success");
  expect((await record()).body.data.merchant).toEqual({ name: "First Merchant" });
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
  });
});
