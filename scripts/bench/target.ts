import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { DATABASES } from "../lab/database.ts";

export const API_KEY = "benchmark-key-0000";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** A program under load, in a child process. */
export type Target = Awaited<ReturnType<typeof startTarget>>;

/** Starts the server as npm start does, and waits until it is ready. A long delay keeps settlements out of measurements. */
export async function startServer({ url }: { url: string }, env: Record<string, string> = {}) {
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
  return {
    ...target,
    /** From the start of the process until it was ready. */
    readyMs: performance.now() - begun,
  };
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

/** Waits until `count` webhooks have arrived at the receiver. @throws Error if no webhook arrives for a minute */
export async function arrivals({ url }: Target, count: number): Promise<Arrival[]> {
  const all: Arrival[] = [];
  for (let idle = 0; all.length < count; await sleep(50)) {
    const arrived = (await (await fetch(url)).json()) as Arrival[];
    all.push(...arrived);
    idle = arrived.length > 0 ? 0 : idle + 1;
    if (idle > 1_200) throw new Error(`${all.length} of ${count} webhooks arrived`);
  }
  return all;
}

/** Starts a Node script and waits until it prints its URL. */
export async function startTarget(name: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const kill = () => void child.kill();
  process.once("exit", kill);
  void ended.then(() => process.off("exit", kill));
  const url = await printedUrl(child.stdout);
  const file = (of: string) => readFileSync(`/proc/${child.pid}/${of}`, "utf8");
  const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(file("status"))![1]) / 1_024;
  return {
    name,
    url,
    pid: child.pid!,
    /** The memory that the process uses now, and the most that it has used, in MB. */
    memory: () => ({ now: megabytes("VmRSS"), most: megabytes("VmHWM") }),
    /** The number of open files and connections. */
    handles: () => readdirSync(`/proc/${child.pid}/fd`).length,
    /** CPU time that the process has used so far, in milliseconds: of the user and the system, in units of 10 ms. */
    cpuMs() {
      const [user, system] = file("stat").split(") ").at(-1)!.split(" ").slice(11, 13);
      return (Number(user) + Number(system)) * 10;
    },
    async stop() {
      kill();
      await ended;
    },
  };
}

/** The first URL that a program prints. What it prints afterwards is read too, or the program would block. */
async function printedUrl(output: Readable): Promise<string> {
  for await (const line of createInterface(output)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (!url) continue;
    output.resume();
    return url;
  }
  throw new Error("A program ended before it was ready.");
}
