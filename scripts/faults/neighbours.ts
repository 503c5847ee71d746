// Compares a merchant's creates and webhooks in two conditions. In one, clients of 20 other merchants abuse the server.
// In the other, the same clients send the same requests to a dummy server in their own process. This process has the
// lowest priority and a bounded rate in both conditions, so that they differ only in the work of the server.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createLink } from "../../server/domain/sign-in.ts";
import { createIds } from "../../server/domain/ids.ts";
import { createKey, createMerchant } from "../../server/domain/merchants.ts";
import { openStorage } from "../../server/storage/open.ts";
import { aPayout, serve } from "../../server/testing/http.ts";
import { ABUSES, FINAL, PENDING } from "./abuses.ts";
import type { Order } from "./abusing.ts";
import { DATABASES } from "./database.ts";
import { prepareServer } from "./server.ts";
import { violationsOf, type WorldOptions } from "./world.ts";

const KEY = "a-key-for-faults-of-neighbours";
const SESSIONS = 4;
/** Payments that each abuser has at the beginning, so that lists and exports find many. */
const PAYMENTS = 500;
const PAID_AT_ONCE = 20;
/** How much slower a neighbour may become. Differences below `noiseMs` are noise of the machine. */
const MOST = { ratio: 3, noiseMs: 10 };

export interface NeighboursOptions extends WorldOptions {
  merchants: number;
  rounds: number;
  roundMs: number;
  /** All kinds of abuse, unless one is named. */
  abuse?: string | undefined;
}

/** Durations in milliseconds. */
const MEASURED = ["create", "webhook"] as const;
type Times = Record<(typeof MEASURED)[number], number[]>;
const noTimes = (): Times => ({ create: [], webhook: [] });

/** Starts a receiver that answers at once. */
const startReceiver = (onWebhook: (reference: string) => void) =>
  serve(async (request, response) => {
    onWebhook((JSON.parse(await text(request)) as { data: { merchantsReference: string } }).data.merchantsReference);
    response.writeHead(204).end();
  });

/** Stores the merchants with their keys, and returns tokens of links with which their people sign in. */
async function store(url: string, count: number, kinds: readonly string[]) {
  const clock = createSystemClock();
  const database = { kind: "sqlite", path: url.replace(/^sqlite:/, "") } as const;
  const storage = await openStorage(database, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "server a@b" as const };
  const found = [];
  for (let made = 0; made < count; made += 1) {
    const kind = kinds[made % kinds.length]!;
    const { id: merchantId } = await createMerchant(context, `Abuser ${made}`);
    const keys: string[] = [];
    while (keys.length < (kind === "100 keys" ? 100 : 1)) keys.push((await createKey(context, merchantId))!);
    const links: string[] = [];
    while (links.length < SESSIONS)
      links.push(await createLink(context, { merchantId, name: "Ada", role: "administrator" }, context.actor));
    found.push({ kind, merchantId, keys, links });
  }
  await storage.close();
  return found;
}

async function signIn(url: string, token: string): Promise<string> {
  const body = new URLSearchParams({ token });
  const response = await fetch(`${url}/dashboard/sign-in`, {
    method: "POST",
    body,
    headers: { origin: url },
    redirect: "manual",
  });
  return response.headers.getSetCookie()[0]!.split(";", 1)[0]!;
}

/**
 * Starts the process of the abusing clients. At the lowest priority, it gets only the processor time that the server
 * and the measurement leave.
 */
async function startClients() {
  const script = fileURLToPath(new URL("abusing.ts", import.meta.url));
  const child = spawn("nice", ["-n", "19", process.execPath, script], { stdio: ["ignore", 2, 2, "ipc"] });
  const [hanging] = (await once(child, "message")) as [string];
  return {
    hanging,
    async order(order: Order) {
      const done = once(child, "message");
      child.send(order);
      await done;
    },
    close: () => child.kill(),
  };
}

/** The processor time that a process's main thread has used, in milliseconds. */
const busyMs = (pid: number) =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;

/** Stores payments of an abuser. */
async function pay(url: string, key: string): Promise<void> {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const payOne = async () => {
    const response = await fetch(`${url}/v1/disbursements`, {
      method: "POST",
      headers,
      body: JSON.stringify(aPayout({ phoneNumber: PENDING })),
    });
    await response.text();
  };
  for (let paid = 0; paid < PAYMENTS; paid += PAID_AT_ONCE)
    await Promise.all(Array.from({ length: PAID_AT_ONCE }, payOne));
}

const p95 = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Infinity;
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/**
 * Lets merchants abuse the server, each in one way, while another merchant pays. Alternates with rounds in which that
 * merchant is alone.
 */
export async function runNeighbours({
  merchants,
  rounds,
  roundMs,
  abuse,
  print,
}: NeighboursOptions): Promise<string[]> {
  const { violations, violate } = violationsOf(print);
  const database = await DATABASES.sqlite();
  const arrivals = new Map<string, () => void>();
  const healthy = await startReceiver((reference) => arrivals.get(reference)?.());
  const server = await prepareServer({ databaseUrl: database.url, key: KEY, violate, onEnd: violate });

  /** Pays one after another and waits for each webhook. */
  async function measure(url: string): Promise<Times> {
    const times = noTimes();
    const headers = { "x-api-key": KEY, "content-type": "application/json" };
    for (const end = performance.now() + roundMs; performance.now() < end;) {
      const payout = aPayout({ phoneNumber: FINAL, webhookURL: healthy.url });
      const begun = performance.now();
      const arrived = new Promise<void>((resolve) =>
        arrivals.set(payout.reference, () => {
          times.webhook.push(performance.now() - begun);
          resolve();
        }),
      );
      const response = await fetch(`${url}/v1/disbursements`, {
        method: "POST",
        headers,
        body: JSON.stringify(payout),
      });
      if (response.status !== 200) violate(`a neighbour's create returned ${response.status}`);
      await response.text();
      times.create.push(performance.now() - begun);
      await arrived;
      arrivals.delete(payout.reference);
    }
    return times;
  }

  const clients = await startClients();
  try {
    // The first start marks the database as a sandbox's.
    server.launch();
    await server.ready();
    await server.stop();
    const stored = await store(database.url, merchants, abuse === undefined ? Object.keys(ABUSES) : [abuse]);
    server.launch();
    await server.ready();
    const url = `http://127.0.0.1:${server.port}`;
    const abusers = [];
    for (const { kind, links, ...of } of stored) {
      const cookies: string[] = [];
      for (const link of links) cookies.push(await signIn(url, link));
      abusers.push({ kind, abuser: { ...of, url, cookies, hanging: clients.hanging } });
      await pay(url, of.keys[0]!);
    }
    await measure(url);
    const [ratios, slower] = [noTimes(), noTimes()];
    for (let round = 1; round <= rounds; round += 1) {
      await clients.order({ abusers, dummy: true });
      const alone = await measure(url);
      await clients.order({ abusers, dummy: false });
      const busyBefore = busyMs(server.pid());
      const abused = await measure(url);
      const used = (busyMs(server.pid()) - busyBefore) / roundMs;
      await clients.order("end");
      print(`round ${round}: the abused server used ${Math.round(100 * used)} % of a processor`);
      for (const what of MEASURED) {
        const [before, during] = [p95(alone[what]), p95(abused[what])];
        ratios[what].push(during / before);
        slower[what].push(during - before);
        print(`round ${round}: ${what} p95 ${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms abused`);
      }
    }
    for (const what of MEASURED) {
      const ratio = median(ratios[what]);
      print(`${what}: p95 ${ratio.toFixed(2)} times the p95 alone`);
      if (ratio > MOST.ratio && median(slower[what]) > MOST.noiseMs)
        violate(`a neighbour's ${what} took ${ratio.toFixed(2)} times as long`);
    }
    await server.stop([0, 1]);
  } finally {
    clients.close();
    await server.kill();
    await healthy.close();
    await database.close();
  }
  return violations;
}
