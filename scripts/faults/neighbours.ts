import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createLink } from "../../server/domain/dashboard.ts";
import { createIds } from "../../server/domain/ids.ts";
import { createKey, createMerchant } from "../../server/domain/merchants.ts";
import { openStorage } from "../../server/storage/open.ts";
import { aPayout } from "../../server/testing/server.ts";
import { ABUSES, FINAL, type Abuser } from "./abuses.ts";
import { DATABASES } from "./database.ts";
import { prepareServer } from "./server.ts";
import { violationsOf, type WorldOptions } from "./world.ts";

const KEY = "a-key-for-faults-of-neighbours";
/** Repetitions of an abuse at once. */
const AT_ONCE = 4;
const SESSIONS = 4;
/** How much slower a neighbour may be, and the difference below which a machine's noise decides, in milliseconds. */
const MOST = { ratio: 2, noiseMs: 10 };

export interface NeighboursOptions extends WorldOptions {
  merchants: number;
  rounds: number;
  roundMs: number;
}

interface Times {
  create: number[];
  webhook: number[];
}

/** Starts a receiver that answers at once, or never. */
async function startReceiver(hangs: boolean, onWebhook: (reference: string) => void = () => undefined) {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      onWebhook(JSON.parse(text).data.merchantsReference);
      if (!hangs) response.writeHead(204).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => (server.closeAllConnections(), server.close()) };
}

/** Stores the merchants with their keys, and returns tokens of links with which their people sign in. */
async function store(url: string, count: number) {
  const clock = createSystemClock();
  const database = { kind: "sqlite", path: url.replace(/^sqlite:/, "") } as const;
  const storage = await openStorage(database, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "server a@b" as const };
  const kinds = Object.keys(ABUSES);
  const found = [];
  for (let made = 0; made < count; made += 1) {
    const kind = kinds[made % kinds.length]!;
    const { id: merchantId } = await createMerchant(context, `Abuser ${made}`);
    const keys: string[] = [];
    while (keys.length < (kind === "100 keys" ? 100 : 1)) keys.push(await createKey(context, merchantId));
    const links: string[] = [];
    while (links.length < SESSIONS) links.push(await createLink(context, { merchantId, name: "Ada" }, context.actor));
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

/** Repeats an abuse until the signal. Refusals are expected. */
async function abuse(abuser: Abuser, kind: string, signal: AbortSignal): Promise<void> {
  const repeat = async (first: number) => {
    for (let turn = first; !signal.aborted; turn += AT_ONCE)
      await ABUSES[kind]!(abuser, turn, signal).catch(() => sleep(10));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => repeat(first)));
}

const p95 = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Infinity;
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Merchants abuse one thing each, while another one pays. Alternates with rounds in which it is alone. */
export async function runNeighbours({ merchants, rounds, roundMs, print }: NeighboursOptions): Promise<string[]> {
  const { violations, violate } = violationsOf(print);
  const database = await DATABASES.sqlite();
  const arrivals = new Map<string, (at: number) => void>();
  const healthy = await startReceiver(false, (reference) => arrivals.get(reference)?.(performance.now()));
  const silent = await startReceiver(true);
  const server = await prepareServer({ databaseUrl: database.url, key: KEY, violate, onEnd: violate });

  /** Pays one after another and waits for each webhook. */
  async function measure(url: string): Promise<Times> {
    const times: Times = { create: [], webhook: [] };
    const headers = { "x-api-key": KEY, "content-type": "application/json" };
    for (const end = performance.now() + roundMs; performance.now() < end;) {
      const payout = aPayout({ phoneNumber: FINAL, webhookURL: healthy.url });
      const arrived = new Promise<number>((resolve) => arrivals.set(payout.reference, resolve));
      const begun = performance.now();
      const response = await fetch(`${url}/v1/disbursements`, {
        method: "POST",
        headers,
        body: JSON.stringify(payout),
      });
      if (response.status !== 200) violate(`a neighbour's create returned ${response.status}`);
      await response.text();
      times.create.push(performance.now() - begun);
      times.webhook.push((await arrived) - begun);
      arrivals.delete(payout.reference);
    }
    return times;
  }

  try {
    // The first start makes the database a sandbox's.
    server.launch();
    await server.ready();
    await server.stop();
    const stored = await store(database.url, merchants);
    server.launch();
    await server.ready();
    const url = `http://127.0.0.1:${server.port}`;
    const abusers = [];
    for (const { kind, links, ...of } of stored) {
      const cookies: string[] = [];
      for (const link of links) cookies.push(await signIn(url, link));
      abusers.push({ kind, abuser: { ...of, url, cookies, hanging: silent.url } });
    }
    await measure(url);
    const ratios: Times = { create: [], webhook: [] };
    const slower: Times = { create: [], webhook: [] };
    for (let round = 1; round <= rounds; round += 1) {
      const alone = await measure(url);
      const ending = new AbortController();
      const abusing = abusers.map(({ abuser, kind }) => abuse(abuser, kind, ending.signal));
      const abused = await measure(url);
      ending.abort();
      await Promise.all(abusing);
      for (const what of ["create", "webhook"] as const) {
        const [before, during] = [p95(alone[what]), p95(abused[what])];
        ratios[what].push(during / before);
        slower[what].push(during - before);
        print(`round ${round}: ${what} p95 ${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms abused`);
      }
    }
    for (const what of ["create", "webhook"] as const) {
      const ratio = median(ratios[what]);
      print(`${what}: p95 ${ratio.toFixed(2)} times that of alone`);
      if (ratio > MOST.ratio && median(slower[what]) > MOST.noiseMs)
        violate(`a neighbour's ${what} took ${ratio.toFixed(2)} times as long`);
    }
    await server.stop([0, 1]);
  } finally {
    await server.kill();
    healthy.close();
    silent.close();
    await database.close();
  }
  return violations;
}
