import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reservePort } from "../../conformance/target/reserve-port.ts";

/** Debian installs the program in a folder that is only on root's PATH. */
const PATH = `${process.env.PATH}:/usr/sbin`;
const NOBODY = 65_534;

/** PgBouncer refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Why the tests of PgBouncer cannot run here, or undefined if they can. */
export const pgbouncerIsMissing = (): string | undefined =>
  spawnSync("pgbouncer", ["--version"], { env: { PATH }, ...user }).status === 0
    ? undefined
    : "pgbouncer is not installed (Debian: apt-get install pgbouncer), or cannot run here as another user than root";

export interface PgBouncer {
  /** The URL of the same database through PgBouncer. */
  url: string;
  close(): Promise<void>;
}

/** Starts PgBouncer in front of a database, with its own defaults except for the mode and the number of sessions. */
export async function startPgBouncer(database: string, mode: "session" | "transaction" | "statement") {
  const { hostname, port, username, password, pathname } = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), "pgbouncer-"));
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
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      printed += String(chunk);
      if (printed.includes("process up")) resolve();
    });
    ended.then(() => reject(new Error(`PgBouncer did not start: ${printed}`)), reject);
  });
  return {
    url: Object.assign(new URL(database), { hostname: "127.0.0.1", port: String(listenPort), pathname }).href,
    async close() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  } satisfies PgBouncer;
}
