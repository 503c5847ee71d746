// A database belongs to a sandbox or to a live service, for ever (D80).
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "./testing/own-postgres.ts";
import { LIVE, runCommand, runServer, type Ended } from "./testing/process.ts";
import { stop, testDatabase, testFolder, startTestServer } from "./testing/resources.ts";

type Env = NodeJS.ProcessEnv;
const SANDBOX = { SANDBOX: "true" };
const COMMANDS = [
  ["keys", "create-merchant", "Eve"],
  ["keys", "dashboard-link"],
  ["db", "migrate"],
];
const LIVE_DATABASE = /^The database belongs to a live service, and SANDBOX=true asks for a sandbox\. /;
const NOT_SET = /^The database belongs to a live service, and SANDBOX is not set, which starts a sandbox\. /;
const SANDBOX_DATABASE = /^The database belongs to a sandbox, and SANDBOX=false asks for a live service\. /;

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
const startAndStop = async (env: Env) => stop(await startTestServer(env));
const modeOf = async (env: Env): Promise<string> =>
  JSON.parse((await runCommand(env, "db", "status", "--json")).stdout).mode;

/** Each creates an empty database. `contents` reads everything that is stored in it. */
const DATABASES = {
  async SQLite() {
    const files = () => readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const contents = async () => files().map(({ name }) => [name, readFileSync(join(folder, name), "base64")]);
    return { env: sqlite, contents };
  },
  async PostgreSQL() {
    const { url, run } = await testDatabase(postgres.url);
    const tables = () => run("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
    const contents = async () =>
      Promise.all((await tables()).map(async ({ name }) => [name, await run(`SELECT * FROM ${String(name)}`)]));
    return { env: { DATABASE_URL: url }, contents };
  },
};

describe.each(Object.entries(DATABASES))("%s", (_, create) => {
  let place: Awaited<ReturnType<typeof create>>;
  beforeEach(async () => {
    place = await create();
  });
  const start = (env: Env = {}) => startTestServer({ ...place.env, ...env });
  const serve = (env: Env) => runServer({ ...place.env, ...env });
  const command = (env: Env, args: readonly string[]) => runCommand({ ...place.env, ...env }, ...args);
  /** Expects that nothing is stored or changed meanwhile. */
  async function unchanged(refusals: () => Promise<void>) {
    const before = await place.contents();
    await refusals();
    expect(await place.contents()).toEqual(before);
  }

  test("a live database opens live only, also if a command has made it", async () => {
    expect((await command({ SANDBOX: "false" }, ["keys", "create-merchant", "Ada"])).code).toBe(0);
    const first = await start(LIVE);
    const { reference } = (await first.createPayout()).body.data;
    await stop(first);
    await unchanged(async () => {
      await refuses(serve({}), NOT_SET);
      await refuses(serve(SANDBOX), LIVE_DATABASE);
      for (const args of COMMANDS) await refuses(command(SANDBOX, args), LIVE_DATABASE);
    });
    expect(await modeOf(place.env)).toBe("live");
    for (const env of [{}, { SANDBOX: "false" }]) expect((await command(env, ["keys", "list"])).code).toBe(0);
    const { request } = await start(LIVE);
    expect((await request("GET", `/v1/disbursements/${reference}`)).status).toBe(200);
    expect((await request("POST", "/sandbox/reset")).status).toBe(404);
  });

  test("a sandbox's database opens as a sandbox only", async () => {
    await startAndStop(place.env);
    await unchanged(async () => {
      await refuses(serve(LIVE), SANDBOX_DATABASE);
      await refuses(command({ SANDBOX: "false" }, COMMANDS[0]!), SANDBOX_DATABASE);
    });
    expect(await modeOf(place.env)).toBe("sandbox");
    await startAndStop({ ...place.env, ...SANDBOX });
  });
});

test("of processes in different modes that start at once on an empty database, those of one mode run", async () => {
  const { env } = await DATABASES.PostgreSQL();
  const modes = [SANDBOX, LIVE, SANDBOX, LIVE];
  const results = await Promise.allSettled(
    modes.map((mode) => startTestServer({ ...env, ...mode, SANDBOX_API_KEY: undefined })),
  );
  const isLive = (await modeOf(env)) === "live";
  const winner = isLive ? LIVE : SANDBOX;
  expect(modes.filter((__, index) => results[index]!.status === "fulfilled")).toEqual([winner, winner]);
  for (const result of results)
    if (result.status === "rejected") expect(String(result.reason)).toMatch(/The database belongs to a .+ SANDBOX=/);
  await refuses(runServer({ ...env, ...(isLive ? SANDBOX : LIVE) }), isLive ? LIVE_DATABASE : SANDBOX_DATABASE);
});

test("a backup keeps its mode, and replaces no database of the other one", async () => {
  const [live, sandbox] = ["live", "sandbox"].map((name) => join(folder, `${name}.backup`));
  for (const [file, mode] of [
    [live, LIVE],
    [sandbox, SANDBOX],
  ] as const) {
    const env = { DATABASE_URL: `sqlite:${file}.db` };
    await startAndStop({ ...env, ...mode });
    expect((await runCommand(env, "db", "backup", file!)).code).toBe(0);
  }
  const restore = (file = "", changes: Env = {}) =>
    runCommand({ ...sqlite, ...changes }, "db", "restore", file, "--replace");
  expect(await restore(live, SANDBOX)).toMatchObject({ code: 2, stderr: expect.stringMatching(LIVE_DATABASE) });
  expect(readdirSync(folder)).not.toContain("server.db");
  expect((await restore(live)).code).toBe(0);
  await refuses(runServer(sqlite), NOT_SET);
  const other = /^The backup belongs to a sandbox, but the database belongs to a live service\. /;
  expect(await restore(sandbox)).toMatchObject({ code: 2, stderr: expect.stringMatching(other) });
  await startAndStop({ ...sqlite, ...LIVE });
});
