// Acknowledged payouts must survive a crash of PostgreSQL, whatever the defaults of the database and the role are.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startOwnPostgres, type OwnPostgres } from "../../testing/own-postgres.ts";
import { startTestServer } from "../../testing/resources.ts";
import { LIVE, runServer } from "../../testing/process.ts";
import { aPayout } from "../../testing/server.ts";
import { concurrently } from "../../testing/storage/fixtures.ts";

let postgres: OwnPostgres;
let env: { DATABASE_URL: string; LOG_LEVEL: string };
beforeAll(async () => {
  postgres = await startOwnPostgres("durable");
  env = { DATABASE_URL: postgres.url, LOG_LEVEL: "warn" };
  // Commits that wait for nothing stay in memory for this long.
  await set("wal_writer_delay", "10s");
});
afterAll(() => postgres.close());

async function set(name: string, value: string) {
  await postgres.run(`ALTER SYSTEM SET ${name} = '${value}'`);
  await postgres.run("SELECT pg_reload_conf()");
}

const ALL = "ALTER SYSTEM SET synchronous_commit";
test.each([
  ["of the database", "ALTER DATABASE postgres SET synchronous_commit = off", "ALTER DATABASE postgres RESET ALL"],
  ["of the role", "ALTER ROLE postgres SET synchronous_commit = off", "ALTER ROLE postgres RESET ALL"],
  ["of all, while the server runs,", `${ALL} = off`, `${ALL} = on`],
])("with synchronous_commit=off as the default %s a crash loses no acknowledged payout", async (_, before, after) => {
  const whileRunning = before.startsWith(ALL);
  if (!whileRunning) await postgres.run(before);
  const { createPayout } = await startTestServer(env);
  if (whileRunning) {
    expect((await createPayout(aPayout())).status).toBe(200);
    await postgres.run(before);
    await postgres.run("SELECT pg_reload_conf()");
  }
  const created = await concurrently(50, () => createPayout(aPayout()));
  await postgres.restart("SIGQUIT");
  await postgres.run(after);
  const stored = await postgres.run("SELECT reference FROM disbursements");
  const references = new Set(stored.map(({ reference }) => reference));
  expect(created.filter(({ body }) => !references.has(body.data.reference))).toEqual([]);
});

test.each(["fsync", "full_page_writes"])(
  "with %s=off a live service does not start, unless DATABASE_URL says that pages are written whole",
  async (name) => {
    await set(name, "off");
    const { code, stdout, stderr } = await runServer({ ...env, ...LIVE });
    if (name === "full_page_writes") {
      const accepting = { ...env, ...LIVE, DATABASE_URL: `${env.DATABASE_URL}?full_page_writes=off` };
      // The next check is that of the mode.
      expect((await runServer(accepting)).stderr).toMatch(/^The database belongs to a sandbox/);
    }
    await set(name, "on");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^PostgreSQL runs with ${name}=off: .* Set ${name}=on on the PostgreSQL server`));
  },
);
