import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { startPostgresProxy } from "../../server/testing/postgres-proxy.ts";
import { reservePort } from "../../conformance/target/reserve-port.ts";
import { Missing } from "./world.ts";

const run = promisify(execFile);
const DEBIAN = "/usr/lib/postgresql";
const NAME = "standby";

/** A primary whose commits wait for its standby, and one address for both. */
export interface Pair {
  /** The address, which leads to the primary until the standby is promoted. */
  url: string;
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Stops every process of the standby (SIGSTOP), so that no commit can be confirmed. */
  freezeStandby(): Promise<void>;
  /** Kills every process of the primary. */
  killPrimary(): Promise<void>;
  /** Lets the standby continue and makes it the primary, at the same address. */
  promote(): Promise<void>;
  close(): Promise<void>;
}

/** Returns the folder of the programs of the latest PostgreSQL that is installed as Debian does. */
export function installedPostgres(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const folders = versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, "bin"));
  return folders.find((folder) => existsSync(join(folder, "pg_basebackup")));
}

/** PostgreSQL refuses to run as root, so root runs it as the user whom the package has created. */
async function ordinaryUser(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (of) => Number((await run("id", [of, "postgres"])).stdout)),
  );
  return { uid: uid!, gid: gid! };
}

interface Server {
  url: string;
  signal(signal: NodeJS.Signals): Promise<void>;
  child: ChildProcess;
}

/** Starts both servers. @param programs the folder of `installedPostgres` */
export async function startPair(programs: string): Promise<Pair> {
  const user = await ordinaryUser();
  const folder = mkdtempSync(join(tmpdir(), "failover-"));
  try {
    if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  } catch {
    rmSync(folder, { recursive: true });
    throw new Missing("root cannot act as the user postgres here, as in a user namespace");
  }
  const program = (name: string, ...args: string[]) => run(join(programs, name), args, { ...user, cwd: folder });

  async function start(data: string, settings: Record<string, string>): Promise<Server> {
    const port = await reservePort();
    const fixed = {
      port: String(port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
    };
    const args = Object.entries({ ...fixed, ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(programs, "postgres"), ["-D", data, ...args], { ...user, cwd: folder, stdio: "ignore" });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    while (!(await isReady(url))) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}.`);
      await sleep(50);
    }
    return { url, child, signal: (signal) => signalAll(child.pid!, signal) };
  }

  const [first, second] = [join(folder, "primary"), join(folder, NAME)];
  await program("initdb", "-D", first, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C");
  const primary = await start(first, {});
  mkdirSync(second, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(second, user.uid, user.gid!);
  await program("pg_basebackup", "-D", second, "-R", "-c", "fast", "-d", primary.url);
  const standby = await start(second, { primary_conninfo: `${primary.url}?application_name=${NAME}` });
  await statement(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '${NAME}'`);
  await statement(primary.url, "SELECT pg_reload_conf()");
  const isSynchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
  while ((await statement(primary.url, isSynchronous)).length === 0) await sleep(50);

  const proxy = await startPostgresProxy(primary.url);
  return {
    url: proxy.url,
    run: (sql) => statement(proxy.url, sql),
    freezeStandby: () => standby.signal("SIGSTOP"),
    killPrimary: () => primary.signal("SIGKILL"),
    async promote() {
      await standby.signal("SIGCONT");
      await statement(standby.url, "SELECT pg_promote()");
      proxy.leadTo(standby.url);
    },
    async close() {
      await proxy.close();
      for (const { child, signal } of [primary, standby]) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        await signal("SIGKILL");
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true });
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  return statement(url, "SELECT 1").then(
    () => true,
    () => false,
  );
}

async function statement(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Sends a signal to a server and to the processes that it has started. The server gets the signal first, so that it
 * starts no more processes.
 */
async function signalAll(pid: number, signal: NodeJS.Signals): Promise<void> {
  const { stdout } = await run("pgrep", ["-P", String(pid)]);
  process.kill(pid, signal);
  for (const line of stdout.trim().split("\n")) {
    try {
      process.kill(Number(line), signal);
    } catch {
      // The process has already ended.
    }
  }
}
