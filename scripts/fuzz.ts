// Sends many invalid requests to a server. Fails if one is accepted or recorded, or if the server's memory grows.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fuzz, hasNoRecords } from "../server/testing/fuzz.ts";
import { createHttpClient, type HttpClient } from "../server/testing/http.ts";
import { startProcess } from "../server/testing/process.ts";

const USAGE = `Usage: node scripts/fuzz.ts [--count 100000] [--seed 1] [--base-url http://127.0.0.1:PORT]

Without --base-url the script starts its own server. With it, the server must be a sandbox on this machine whose
merchant has no records, and API_KEY must hold the merchant's key.`;

/**
 * Allowed growth of resident memory, in MiB, from a quarter of the run to its end. The limit leaves room for the heap
 * to settle.
 */
const GROWTH_ALLOWED = 64;

interface Target {
  client: HttpClient;
  /** The server's process id, if this script started it. */
  pid?: number;
  stop(): Promise<void>;
}

const options = readOptions();
const target = options.baseUrl === undefined ? await ownServer() : remote(options.baseUrl);
try {
  await run(target);
} finally {
  await target.stop();
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        count: { type: "string", default: "100000" },
        seed: { type: "string", default: "1" },
        "base-url": { type: "string" },
      },
    });
    const [count, seed] = [Number(values.count), Number(values.seed)];
    if (!Number.isInteger(count) || count < 1 || !Number.isInteger(seed))
      throw new Error("--count must be a positive integer and --seed an integer.");
    return { count, seed, baseUrl: values["base-url"] };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function ownServer(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), "fuzz-"));
  const key = "a-key-for-invalid-requests";
  const server = await startProcess({ DATABASE_URL: `sqlite:${join(folder, "server.db")}`, SANDBOX_API_KEY: key });
  return {
    client: server.client(key),
    pid: server.pid,
    async stop() {
      server.kill("SIGTERM");
      await server.ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function remote(baseUrl: string): Target {
  const url = URL.parse(baseUrl);
  const key = process.env.API_KEY;
  if (url?.hostname !== "127.0.0.1" || url.port === "" || !key) {
    console.error(USAGE);
    process.exit(2);
  }
  return { client: createHttpClient({ port: Number(url.port), key, sandbox: true }), stop: async () => undefined };
}

async function run({ client, pid }: Target): Promise<void> {
  const { count, seed } = options;
  const rss: number[] = [];
  const every = Math.ceil(count / 20);
  const start = performance.now();
  const refused = await fuzz({
    request: client.request,
    count,
    seed,
    onProgress(refusedSoFar) {
      if (refusedSoFar % every !== 0 || pid === undefined) return;
      rss.push(residentMiB(pid));
      console.log(`${refusedSoFar} refused, ${rss.at(-1)} MiB`);
    },
  });
  const seconds = (performance.now() - start) / 1_000;
  const statuses = [...refused].toSorted().map(([status, times]) => `${status}: ${times}`);
  console.log(`${count} invalid requests refused in ${seconds.toFixed(1)} s (seed ${seed}): ${statuses.join(", ")}`);

  const empty = await hasNoRecords(client.request);
  console.log(empty ? "No record was created." : "FAILED: a record was created.");
  const grown = rss.length < 20 ? 0 : rss.at(-1)! - rss[4]!;
  if (rss.length === 20) console.log(`Memory growth from a quarter of the run to its end: ${grown} MiB.`);
  await client.close();
  if (!empty || grown > GROWTH_ALLOWED) process.exitCode = 1;
}

function residentMiB(pid: number): number {
  return Math.round(Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)]).toString()) / 1_024);
}
