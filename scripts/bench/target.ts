import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DATABASES } from "../lab/database.ts";

export const API_KEY = "benchmark-key-0000";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** A server under load, in a child process. */
export interface Target {
  name: string;
  url: string;
  pid: number;
  /** From the start of the process until /readyz responded with 200, in milliseconds; absent without a /readyz. */
  readyMs?: number;
  /** The memory that the process uses now, and the most that it has used, in MB. */
  memory(): { now: number; most: number };
  /** The number of open files and connections. */
  handles(): number;
  /** CPU time that the process has used so far, in milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Starts the server as npm start does, and waits until it is ready. A long delay keeps settlements out of measurements. */
export async function startServer({ url }: { url: string }, env: Record<string, string> = {}): Promise<Target> {
  const begun = performance.now();
  const main = new URL("../../server/main.ts", import.meta.url).pathname;
  const cache = new URL("../../node_modules/.cache/node", import.meta.url).pathname;
  const target = await startTarget("server", ["--max-semi-space-size=16", main], {
    PORT: "0",
    NODE_COMPILE_CACHE: cache,
    DATABASE_URL: url,
    SANDBOX_API_KEY: API_KEY,
    SETTLE_DELAY_MS: "86400000",
    ...env,
  });
  while ((await fetch(`${target.url}/readyz`)).status !== 200) await sleep(5);
  return { ...target, readyMs: performance.now() - begun };
}

/** Lets `use` measure a server on SQLite with a receiver of its webhooks (receiver.ts), and stops both. */
export async function withServer(
  env: Record<string, string>,
  use: (server: Target, receiver: Target) => Promise<void>,
): Promise<void> {
  const database = await DATABASES.sqlite();
  const server = await startServer(database, env);
  const receiver = await startTarget("receiver", [new URL("receiver.ts", import.meta.url).pathname]);
  try {
    await use(server, receiver);
  } finally {
    await Promise.all([server.stop(), receiver.stop()]);
    await database.close();
  }
}

/** When a payment settled and its webhook arrived. */
export interface Arrival {
  settledAt: number;
  arrivedAt: number;
}

/** The webhooks that have arrived at the receiver since the last call. */
export const newArrivals = async ({ url }: Target): Promise<Arrival[]> =>
  (await (await fetch(url)).json()) as Arrival[];

/** Waits until so many webhooks have arrived at the receiver. @throws Error if none arrives for a minute */
export async function arrivals(receiver: Target, count: number): Promise<Arrival[]> {
  const all: Arrival[] = [];
  for (let idle = 0; all.length < count; await sleep(50)) {
    const arrived = await newArrivals(receiver);
    all.push(...arrived);
    idle = arrived.length > 0 ? 0 : idle + 1;
    if (idle > 1_200) throw new Error(`${all.length} of ${count} webhooks arrived`);
  }
  return all;
}

/** Starts a Node script and waits until it prints its URL. */
export async function startTarget(name: string, args: string[], env: Record<string, string> = {}): Promise<Target> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = () => void child.kill();
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const url = await printedUrl(child, name);
  const status = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))![1]) / 1_024;
  return {
    name,
    url,
    pid: child.pid!,
    memory: () => ({ now: status("VmRSS"), most: status("VmHWM") }),
    handles: () => readdirSync(`/proc/${child.pid}/fd`).length,
    cpuMs: () => cpuMsOf(child.pid!),
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill();
      }),
  };
}

function printedUrl(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString()) ?? [];
      if (!url) return;
      // Keep reading, or the child blocks once the pipe is full.
      child.stdout!.off("data", look).resume();
      resolve(url);
    };
    child.stdout!.on("data", look);
    child.once("exit", (code) => reject(new Error(`${name} exited with code ${code} before it was ready`)));
  });
}

/** Reads user and system CPU time, which Linux reports in units of 10 ms. */
function cpuMsOf(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!;
  const [user, system] = afterName.split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
