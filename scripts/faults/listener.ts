import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startPostgresProxy } from "../../server/testing/postgres-proxy.ts";
import { aPayout } from "../../server/testing/server.ts";
import { createCaller, type Caller } from "./caller.ts";
import { DATABASES, type Storage } from "./database.ts";
import { prepareServer } from "./server.ts";
import { violationsOf, type WorldOptions } from "./world.ts";

const KEY = "a-key-for-faults-of-listeners";
const cli = fileURLToPath(new URL("../../server/cli.ts", import.meta.url));
const CALLERS = 8;
/** How long the last event may take to arrive, in milliseconds. This is longer than a lease and a search together. */
const LATEST_MS = 90_000;

export interface ListenerOptions extends WorldOptions {
  storage: Storage;
  events: number;
  disconnects: number;
}

/** A receiver that records which attempts of each event arrive, and whether they overlap. */
async function startReceiver(violate: (what: string) => void) {
  const received = new Map<string, number>();
  const open = new Set<string>();
  const server = createServer(async (request, response) => {
    const id = String(request.headers["webhook-id"]);
    const { data } = JSON.parse(await text(request));
    if (open.has(id)) violate(`two attempts of ${id} at once`);
    open.add(id);
    received.set(data.reference, (received.get(data.reference) ?? 0) + 1);
    await sleep(1);
    open.delete(id);
    response.writeHead(204).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, received, close: () => (server.closeAllConnections(), server.close()) };
}

/** Starts `listen` and resolves when it is connected. Starts it again if its first connection is cut. */
async function startListener(baseUrl: string, forwardTo: string, starts = 5): Promise<ChildProcess> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const args = [cli, "listen", "--base-url", baseUrl, "--forward-to", forwardTo];
  const child = spawn(process.execPath, args, { env: { PATH, HOME, NODE_COMPILE_CACHE, API_KEY: KEY } });
  let printed = "";
  child.stdout.on("data", (chunk) => (printed += String(chunk)));
  child.stderr.on("data", (chunk) => (printed += String(chunk)));
  while (!/^Connected\./m.test(printed)) {
    if (child.exitCode !== null) {
      if (starts === 1) throw new Error(`listen ended: ${printed}`);
      return startListener(baseUrl, forwardTo, starts - 1);
    }
    await sleep(20);
  }
  return child;
}

/** Creates a payout whose event is written at once, whatever happens to the server. Returns the service's reference. */
async function pay(caller: Caller): Promise<string> {
  const body = aPayout({ phoneNumber: "2257038102001" });
  for (;;) {
    const response = await caller.send("POST", "/v1/disbursements", { body });
    if (response?.status === 200) return response.body.data.reference;
    if (response?.status === 409) return response.headers.location!.split("/").at(-1)!;
    await sleep(50);
  }
}

/**
 * Cuts the connections of a listener, kills the server and the listener, and checks that every event has arrived and is in
 * the log as delivered. Returns the violations found.
 */
export async function runListenerFaults(options: ListenerOptions): Promise<string[]> {
  const { storage, events, disconnects, deadlineMs, print } = options;
  const { violations, violate } = violationsOf(print);
  const database = await DATABASES[storage]();
  const server = await prepareServer({ databaseUrl: database.url, key: KEY, violate, onEnd: violate });
  const receiver = await startReceiver(violate);
  server.launch();
  await server.ready();
  const proxy = await startPostgresProxy(`http://127.0.0.1:${server.port}`);
  const caller = createCaller({ ports: [server.port], key: KEY, deadlineMs, violate });
  const baseUrl = proxy.url.replace(/\/$/, "");
  let listener = await startListener(baseUrl, receiver.url);
  const faults = new Map<number, () => Promise<unknown> | void>();
  for (let cut = 1; cut <= disconnects; cut += 1) faults.set(Math.floor((cut * events) / (disconnects + 1)), proxy.cut);
  faults.set(Math.floor(events / 3), async () => {
    await server.kill();
    server.launch();
  });
  faults.set(Math.floor((2 * events) / 3), async () => {
    listener.kill("SIGKILL");
    await once(listener, "exit");
    listener = await startListener(baseUrl, receiver.url);
  });
  try {
    const references: string[] = [];
    let begun = 0;
    const work = async () => {
      while (begun < events) {
        begun += 1;
        await faults.get(begun)?.();
        references.push(await pay(caller));
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, work));
    const deadline = performance.now() + LATEST_MS;
    const missing = () => references.filter((reference) => !receiver.received.has(reference));
    while (missing().length > 0 && performance.now() < deadline) await sleep(50);
    for (const reference of missing()) violate(`the event of ${reference} never arrived`);
    await checkLog(caller, new Set(references), violate);
    const again = [...receiver.received.values()].filter((count) => count > 1).length;
    print(`${references.length} events, ${disconnects} cuts: all arrived, ${again} more than once`);
  } finally {
    listener.kill("SIGKILL");
    await server.kill();
    await proxy.close();
    receiver.close();
    await database.close();
  }
  return violations;
}

/** Checks that every event is in the log with an attempt that delivered it. */
async function checkLog(caller: Caller, expected: Set<string>, violate: (what: string) => void) {
  for (let left = 100; left > 0 && (await undelivered(caller)) > 0; left -= 1) await sleep(100);
  for (let cursor = ""; ;) {
    const { items, nextCursor } = await caller.read(`/sandbox/deliveries?limit=100${cursor}`);
    for (const { reference, status, attempts } of items) {
      expected.delete(reference);
      const isLogged = attempts.some(({ httpStatus }: { httpStatus?: number }) => httpStatus === 204);
      if (status !== "delivered" || !isLogged) violate(`the event of ${reference} is ${status} in the log`);
    }
    if (!nextCursor) break;
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
  }
  for (const reference of expected) violate(`the event of ${reference} is not in the log`);
}

const undelivered = async (caller: Caller): Promise<number> =>
  (await caller.read("/sandbox/deliveries?status=pending&limit=1")).items.length;
