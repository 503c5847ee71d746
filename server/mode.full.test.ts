// A database belongs to a sandbox or to a live service, for ever (D80).
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "./testing/own-postgres.ts";
import { LIVE, runCommand, runServer, type Ended } from "./testing/process.ts";
import { stop, testDatabase, testFolder, testProcess } from "./testing/places.ts";

type Env = NodeJS.ProcessEnv;
const SANDBOX = { SANDBOX: "true" };
const COMMANDS = [
  ["keys", "create-merchant", "Eve"],
  ["keys", "dashboard-link"],
  ["db", "status"],
  ["db", "migrate"],
  ["db", "prune", "--older-than", "1d"],
];
const LIVE_DATABASE = /^The database belongs to a live service, and SANDBOX=true asks for a sandbox\. /;
const NOT_SET = /^The database belongs to a live service, and SANDBOX is not set, which starts a sandbox\. /;
const SANDBOX_DATABASE = /^The database belongs to a sandbox, and SANDBOX=false asks for a live service\. /;
const UNDECIDED = /^The database has merchants, and no server has stored whether it belongs to /;

/** A live server starts only on a database with durable settings. */
let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await startOwnPostgres("durable");
});
afterAll(() => postgres.close());

let folder: string;
let sqlite: { DATABASE_URL: string };
beforeEach(() => {
  folder = testFolder();
  sqlite = { DATABASE_URL: `sqlite:${join(folder, "server.db")}` };
});

/** Expects that a server or command ended without doing anything. */
async function refuses(ended: Promise<Ended>, reason: RegExp) {
  const { code, stdout, stderr } = await ended;
  expect([code === 0, stdout, stderr]).toEqual([false, "", expect.stringMatching(reason)]);
  expect(stderr).toMatch(
    /Set SANDBOX=(true|false)[^]* set DATABASE_URL to another database\. Nothing was changed\.\n$/,
  );
  expect(stderr).not.toMatch(/\n\s+at /);
}
const startAndStop = async (env: Env) => stop(await testProcess(env));
const modeOf = async (env: Env): Promise<string> =>
  JSON.parse((await runCommand(env, "db", "status", "--json")).stdout).mode;

interface Place {
  env: { DATABASE_URL: string };
  /** Everything that is stored. */
  contents(): Promise<unknown>;
}
const hashOf = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

async function sqlitePlace(): Promise<Place> {
  const files = () =>
    readdirSync(folder)
      .toSorted()
      .map((name) => join(folder, name));
  const contents = async () => files().flatMap((file) => (statSync(file).isFile() ? [[file, hashOf(file)]] : []));
  return { env: sqlite, contents };
}

async function postgresPlace() {
  const { url, run } = await testDatabase(async () => postgres.url);
  return {
    env: { DATABASE_URL: url },
    async contents() {
      const tables = await run("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
      const contents: unknown[] = [];
      for (const { name } of tables) contents.push(name, await run(`SELECT * FROM ${String(name)}`));
      return contents;
    },
    run,
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
  const start = (env: Env = {}) => testProcess({ ...place.env, ...env });
  const serve = (env: Env) => runServer({ ...place.env, ...env });
  const command = (env: Env, args: readonly string[]) => runCommand({ ...place.env, ...env }, ...args);

  test("a live database opens live only", async () => {
    const first = await start(LIVE);
    const { reference } = (await first.createPayout()).body.data;
    await stop(first);

    const before = await place.contents();
    await refuses(serve({}), NOT_SET);
    await refuses(serve(SANDBOX), LIVE_DATABASE);
    for (const args of COMMANDS) await refuses(command(SANDBOX, args), LIVE_DATABASE);
    expect(await place.contents()).toEqual(before);

    expect(await modeOf(place.env)).toBe("live");
    for (const env of [{}, { SANDBOX: "false" }]) expect((await command(env, ["keys", "list"])).code).toBe(0);
    const plain = await command({ PUBLIC_URL: "http://pay.example" }, ["keys", "dashboard-link"]);
    expect(plain.stderr).toMatch(/^A live server serves no dashboard over plain http/);
    const { request } = await start(LIVE);
    expect((await request("GET", `/v1/disbursements/${reference}`)).status).toBe(200);
    expect((await request("POST", "/sandbox/reset")).status).toBe(404);
  });

  test("a sandbox's database opens as a sandbox only", async () => {
    await stop(await start());
    const before = await place.contents();
    await refuses(serve(LIVE), SANDBOX_DATABASE);
    await refuses(command({ SANDBOX: "false" }, COMMANDS[0]!), SANDBOX_DATABASE);
    expect(await place.contents()).toEqual(before);
    expect(await modeOf(place.env)).toBe("sandbox");
    for (const env of [{}, SANDBOX]) await stop(await start(env));
  });

  test("a database with merchants that stores no mode needs an explicit first start", async () => {
    expect((await command({}, ["keys", "create-merchant", "Ada"])).code).toBe(0);
    const before = await place.contents();
    await refuses(serve({}), UNDECIDED);
    expect(await place.contents()).toEqual(before);
    await stop(await start(LIVE));
    await refuses(serve({}), NOT_SET);
  });
});

test("a process in the other mode cannot join", async () => {
  const { env } = await postgresPlace();
  const live = await testProcess({ ...env, ...LIVE });
  await refuses(runServer({ ...env, ...SANDBOX }), LIVE_DATABASE);
  await refuses(runServer({ ...env, ROLE: "worker" }), NOT_SET);
  await testProcess({ ...env, ...LIVE });
  expect((await live.createPayout()).status).toBe(200);
});

test("of processes in different modes that start at once on an empty database, those of one mode run", async () => {
  const { env } = await postgresPlace();
  const modes = [SANDBOX, LIVE, SANDBOX, LIVE];
  const results = await Promise.allSettled(
    modes.map((mode) => testProcess({ ...env, ...mode, SANDBOX_API_KEY: undefined })),
  );
  const winner = (await modeOf(env)) === "live" ? LIVE : SANDBOX;
  const started = modes.filter((__, index) => results[index]!.status === "fulfilled");
  expect(started).toEqual([winner, winner]);
  for (const result of results)
    if (result.status === "rejected") expect(String(result.reason)).toMatch(/The database belongs to a .+ SANDBOX=/);
});

describe("backups and copies", () => {
  test("a backup keeps its mode, and replaces no database of the other one", async () => {
    const [live, sandbox] = [join(folder, "live.backup"), join(folder, "sandbox.backup")];
    for (const [file, mode] of [
      [live, LIVE],
      [sandbox, SANDBOX],
    ] as const) {
      const env = { DATABASE_URL: `sqlite:${file}.db` };
      await startAndStop({ ...env, ...mode });
      expect((await runCommand(env, "db", "backup", file)).code).toBe(0);
    }
    const restore = (file: string, changes: Env = {}) =>
      runCommand({ ...sqlite, ...changes }, "db", "restore", file, "--replace");
    expect((await restore(live, SANDBOX)).stderr).toMatch(
      /^The backup belongs to a live service, but SANDBOX=true asks/,
    );
    expect(readdirSync(folder)).not.toContain("server.db");
    expect((await restore(live)).code).toBe(0);
    await refuses(runServer(sqlite), NOT_SET);
    const other = /^The backup belongs to a sandbox, but the database belongs to a live service\. /;
    expect(await restore(sandbox)).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(other) });
    expect((await restore(live)).code).toBe(0);
    await startAndStop({ ...sqlite, ...LIVE });
  });

  test("a backup from before the first start gets the mode of the database that it replaces", async () => {
    const old = join(folder, "old.backup");
    expect((await runCommand({ DATABASE_URL: `sqlite:${old}` }, "keys", "create-merchant", "Ada")).code).toBe(0);
    await startAndStop({ ...sqlite, ...LIVE });
    expect((await runCommand(sqlite, "db", "restore", old, "--replace")).code).toBe(0);
    expect(await modeOf(sqlite)).toBe("live");
    await refuses(runServer({ ...sqlite, ...SANDBOX }), LIVE_DATABASE);
    await startAndStop({ ...sqlite, ...LIVE });
    await refuses(runServer(sqlite), NOT_SET);
  });

  test("a copy in PostgreSQL has the mode of the original, and a database of the other mode takes none", async () => {
    await startAndStop({ ...sqlite, ...LIVE });
    const [place, other] = [await postgresPlace(), await postgresPlace()];
    const copy = { ...sqlite, DATABASE_URL_TO: place.env.DATABASE_URL };
    await refuses(runCommand({ ...copy, ...SANDBOX }, "db", "copy"), LIVE_DATABASE);
    expect((await runCommand(copy, "db", "copy")).code).toBe(0);
    await refuses(runServer({ ...place.env, ...SANDBOX }), LIVE_DATABASE);

    await startAndStop(other.env);
    await other.run("DELETE FROM api_keys; DELETE FROM merchants; DELETE FROM audit");
    const { code, stderr } = await runCommand({ ...sqlite, DATABASE_URL_TO: other.env.DATABASE_URL }, "db", "copy");
    const notEmpty = /^The destination is not empty: its table mode has rows/;
    expect([code, stderr]).toEqual([2, expect.stringMatching(notEmpty)]);
  });
});
