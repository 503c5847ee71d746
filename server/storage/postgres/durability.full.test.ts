// Acknowledged payouts must survive a crash of PostgreSQL, whatever the defaults of the database and the role are.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "../../testing/own-postgres.ts";
import { LIVE, startProcess, runServer, type ServerProcess } from "../../testing/process.ts";
import { aPayout } from "../../testing/server.ts";

const KEY = "a-key-for-tests-of-durability";
let postgres: OwnPostgres;
let env: { DATABASE_URL: string; SANDBOX_API_KEY: string; LOG_LEVEL: string };
const running: ServerProcess[] = [];

beforeAll(async () => {
  postgres = await startOwnPostgres("durable");
  env = { DATABASE_URL: postgres.url, SANDBOX_API_KEY: KEY, LOG_LEVEL: "warn" };
  // Commits that wait for nothing stay in memory for this long.
  await set("wal_writer_delay", "10s");
});
afterEach(async () => {
  for (const { kill, ended } of running.splice(0)) {
    kill("SIGKILL");
    await ended;
  }
});
afterAll(() => postgres.close());

async function set(name: string, value: string) {
  await postgres.run(`ALTER SYSTEM SET ${name} = '${value}'`);
  await postgres.run("SELECT pg_reload_conf()");
}

async function start(changes: NodeJS.ProcessEnv = {}) {
  const server = await startProcess({ ...env, ...changes });
  running.push(server);
  return { ...server, ...server.client(KEY) };
}

const ALL = "ALTER SYSTEM SET synchronous_commit";
test.each([
  ["of the database", "ALTER DATABASE postgres SET synchronous_commit = off", "ALTER DATABASE postgres RESET ALL"],
  ["of the role", "ALTER ROLE postgres SET synchronous_commit = off", "ALTER ROLE postgres RESET ALL"],
  ["of all, while the server runs,", `${ALL} = off`, `${ALL} = on`],
])("with synchronous_commit=off as the default %s a crash loses no acknowledged payout", async (_, before, after) => {
  const whileRunning = before.startsWith(ALL);
  if (!whileRunning) await postgres.run(before);
  const { request } = await start();
  const pay = () => request("POST", "/v1/disbursements", { body: aPayout() });
  if (whileRunning) {
    expect((await pay()).status).toBe(200);
    await postgres.run(before);
    await postgres.run("SELECT pg_reload_conf()");
  }
  const created = await Promise.all(Array.from({ length: 50 }, pay));
  await postgres.restart("SIGQUIT");
  await postgres.run(after);
  const stored = await postgres.run("SELECT reference FROM disbursements");
  const references = new Set(stored.map(({ reference }) => reference));
  expect(created.filter(({ status }) => status !== 200)).toEqual([]);
  expect(created.filter(({ body }) => !references.has(body.data.reference))).toEqual([]);
});

test.each(["fsync", "full_page_writes"])(
  "with %s=off a live service does not start, and a sandbox warns",
  async (name) => {
    await set(name, "off");
    const refused = await runServer({ ...env, ...LIVE });
    const sandbox = await start();
    await expect.poll(sandbox.output).toContain(`PostgreSQL runs with ${name}=off: a crash can damage `);
    await set(name, "on");
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr).toMatch(
      new RegExp(`^PostgreSQL runs with ${name}=off: .* Set ${name}=on on the PostgreSQL server`),
    );
  },
);

test("an operator whose file system never writes half a page says so in DATABASE_URL", async () => {
  await set("full_page_writes", "off");
  const server = await start({ DATABASE_URL: `${env.DATABASE_URL}?full_page_writes=off` });
  await set("full_page_writes", "on");
  expect(server.output()).not.toContain("full_page_writes=off");
});
