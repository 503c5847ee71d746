// Runs the storage and real processes through PgBouncer, where it is installed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { beforeEach, describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { reservePort } from "../../../conformance/target/reserve-port.ts";
import { createFakeClock } from "../../testing/clock.ts";
import { testFolder, startTestServer, useDatabase } from "../../testing/resources.ts";
import { runServer } from "../../testing/process.ts";
import { aPayout } from "../../testing/server.ts";
import { addMerchant, aDisbursement, concurrently } from "../../testing/storage/fixtures.ts";
import { openPostgres } from "./index.ts";

/** Debian installs the program in a folder that is only on root's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`;
const NOBODY = 65_534;

/** PgBouncer refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Why these tests cannot run here, or undefined if they can. */
const MISSING =
  spawnSync("pgbouncer", ["--version"], { env: { PATH }, ...user }).status === 0
    ? undefined
    : "pgbouncer is not installed (Debian: apt-get install pgbouncer), or cannot run here as another user than root";

/**
 * Starts PgBouncer in front of a database until the test ends, with its own defaults except for the mode and the number of
 * sessions. Returns the URL of the same database through PgBouncer.
 */
async function startPgBouncer(database: string, mode: "session" | "transaction" | "statement") {
  const { hostname, port, username, password, pathname } = new URL(database);
  const folder = testFolder();
  const listenPort = await reservePort();
  const file = join(folder, "pgbouncer.ini");
  const target = `host=${hostname} port=${port} user=${username} password=${password}`;
  // Few sessions, so that in transaction mode each is used by several connections.
  const settings = { listen_addr: "127.0.0.1", listen_port: listenPort, unix_socket_dir: "", auth_type: "any" };
  const pool = { pool_mode: mode, default_pool_size: mode === "session" ? 60 : 6 };
  const lines = Object.entries({ ...settings, ...pool }).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, ["[databases]", `* = ${target}`, "[pgbouncer]", ...lines, ""].join("\n"));
  chmodSync(folder, 0o755);
  const child = spawn("pgbouncer", [file], { env: { PATH }, stdio: ["ignore", "ignore", "pipe"], ...user });
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      printed += String(chunk);
      if (printed.includes("process up")) resolve();
    });
    ended.then(() => reject(new Error(`PgBouncer did not start: ${printed}`)), reject);
  });
  return Object.assign(new URL(database), { hostname: "127.0.0.1", port: String(listenPort), pathname }).href;
}

const database = useDatabase();
let url: string;
beforeEach(({ skip }: TestContext) => void (MISSING && skip(MISSING)));

describe.each(["session", "transaction"] as const)("in %s mode", (mode) => {
  beforeEach(async () => {
    await database.empty();
    url = await startPgBouncer(database.url, mode);
  });

  test("two processes create and settle payouts, and no request fails", async () => {
    const env = { DATABASE_URL: url, SETTLE_DELAY_MS: "50" };
    const running = await Promise.all([startTestServer(env), startTestServer(env)]);
    const statuses = new Set<number>();
    const created: string[] = [];
    await concurrently(24, async (index) => {
      const { createPayout, request } = running[index % 2]!;
      for (let round = 0; round < 10; round += 1) {
        const { status, body } = await createPayout(aPayout());
        statuses.add(status).add((await request("GET", "/v1/disbursements")).status);
        created.push(body.data?.reference);
      }
    });
    expect([...statuses]).toEqual([200]);
    const settled = "SELECT reference FROM disbursements WHERE status = 'success' ORDER BY reference";
    const references = async () => (await database.run(settled)).map(({ reference }) => reference);
    await expect.poll(references).toEqual(created.toSorted());
    for (const { request } of running) expect((await request("GET", "/readyz")).status).toBe(200);
  });

  test("no setting of a transaction remains in a session that others use", async () => {
    const storage = await openPostgres(url, { clock: createFakeClock(), server: true });
    const { id } = await addMerchant(storage);
    await concurrently(20, () => storage.insertDisbursement(aDisbursement(id)));
    await storage.close();
    const clients = Array.from({ length: 6 }, () => new Client(url));
    // An open transaction keeps its session, so that each connection gets another one.
    for (const client of clients) {
      await client.connect();
      await client.query("BEGIN");
      const settings = await client.query("SELECT current_setting('statement_timeout') AS timeout");
      expect(settings.rows).toEqual([{ timeout: "0" }]);
      expect((await client.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
    }
    await Promise.all(clients.map((client) => client.end()));
  });
});

test.each([
  [
    "statement mode, which has no transactions,",
    { mode: "statement", pathname: undefined },
    /: PgBouncer runs in statement mode, which has no transactions\. Set its pool_mode to session or transaction\.\n$/,
  ],
  [
    "a database that PgBouncer does not know",
    { mode: "transaction", pathname: "/absent" },
    /: .*"?absent"? .*Check DATABASE_URL\.\n$/,
  ],
] as const)("%s ends the start with its name", async (_, { mode, pathname }, message) => {
  const DATABASE_URL = Object.assign(new URL(await startPgBouncer(database.url, mode)), pathname && { pathname }).href;
  const { code, stderr } = await runServer({ DATABASE_URL });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(stderr).toMatch(/^Cannot open the PostgreSQL database: /);
});
