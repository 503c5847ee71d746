// Compares a merchant's creates and webhooks in two conditions. In one, clients of other merchants abuse the server. In
// the other, the same clients send the same requests to a dummy server in their own process. The conditions differ only
// in the work of the server.
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createIds } from "../../server/domain/ids.ts";
import { createKey, createMerchant } from "../../server/domain/merchants.ts";
import { createLink } from "../../server/domain/sign-in.ts";
import { openStorage } from "../../server/storage/open.ts";
import { aPayout, serve } from "../../server/testing/http.ts";
import { quantile, sorted } from "../bench/load.ts";
import { DATABASES, fileOf, type Database } from "./database.ts";
import type { Abuse, Abuser, Order } from "./neighbours-clients.ts";
import { FINAL } from "./payments.ts";
import { createWorld, inParallel, launchAll, violationsOf, type RunOptions, type World } from "./world.ts";

const MERCHANTS = 20;
const SESSIONS = 4;
const ROUND_MS = 3_000;
/** Payments that each abuser has at the beginning, so that lists and exports find many. */
const PAYMENTS = 500;
/** Numbers ending in 129 leave a payout pending. */
const PENDING = "2257038102129";
/** How much slower a neighbour may become. Differences below `noiseMs` are noise of the machine. */
const MOST = { ratio: 3, noiseMs: 10 };

/** Durations in milliseconds. */
interface Times {
  create: number[];
  webhook: number[];
}
const noTimes = (): Times => ({ create: [], webhook: [] });

/** Stores merchants with their keys, and tokens of links with which their people sign in. */
async function store(database: Database, kinds: readonly Abuse[]) {
  const clock = createSystemClock();
  const storage = await openStorage({ kind: "sqlite", path: fileOf(database) }, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "server a@b" as const };
  const merchants = [];
  for (let index = 0; index < MERCHANTS; index += 1) {
    const kind = kinds[index % kinds.length]!;
    const { id: merchantId } = await createMerchant(context, `Abuser ${index}`);
    const keys: string[] = [];
    while (keys.length < (kind === "100 keys" ? 100 : 1)) keys.push((await createKey(context, merchantId))!);
    const links: string[] = [];
    while (links.length < SESSIONS)
      links.push(await createLink(context, { merchantId, name: "Ada", role: "administrator" }, context.actor));
    merchants.push({ kind, merchantId, keys, links });
  }
  await storage.close();
  return merchants;
}

/** Signs in with the token of a link. Returns the session's cookie. */
async function signIn(url: string, token: string): Promise<string> {
  const body = new URLSearchParams({ token });
  const headers = { origin: url };
  const response = await fetch(`${url}/dashboard/sign-in`, { method: "POST", body, headers, redirect: "manual" });
  return response.headers.getSetCookie()[0]!.split(";", 1)[0]!;
}

/** Stores the abusers, with payments and sessions. The server must have created the database, and have stopped. */
async function prepare({ server, database, caller }: World, kinds: readonly Abuse[]): Promise<Abuser[]> {
  const merchants = await store(database, kinds);
  await launchAll([server]);
  const url = `http://127.0.0.1:${server.port}`;
  const abusers: Abuser[] = [];
  for (const { links, ...merchant } of merchants) {
    const cookies: string[] = [];
    for (const link of links) cookies.push(await signIn(url, link));
    abusers.push({ ...merchant, url, cookies });
    await inParallel(Array(PAYMENTS).keys(), 20, async () => {
      const body = aPayout({ phoneNumber: PENDING });
      await caller.send("POST", "/v1/disbursements", { key: merchant.keys[0]!, body });
    });
  }
  return abusers;
}

/** Lets other merchants abuse the server while one merchant pays, in turns with the dummy. Returns the violations. */
export async function runNeighbours({ rounds, ...options }: RunOptions & { rounds: number }): Promise<string[]> {
  const { print } = options;
  const { violations, violate } = violationsOf(print);
  const database = await DATABASES.sqlite();
  const world = await createWorld({ ...options, database, violate });
  const { server, caller } = world;
  const arrivals = new Map<string, () => void>();
  const receiver = await serve(async (request, response) => {
    const { data } = JSON.parse(await text(request)) as { data: { merchantsReference: string } };
    arrivals.get(data.merchantsReference)?.();
    response.writeHead(204).end();
  });

  /** Pays one after another and waits for each webhook. */
  async function measure(): Promise<Times> {
    const times = noTimes();
    for (const end = performance.now() + ROUND_MS; performance.now() < end;) {
      const body = aPayout({ phoneNumber: FINAL, webhookURL: receiver.url });
      const arrived = new Promise<void>((resolve) => arrivals.set(body.reference, resolve));
      const begun = performance.now();
      const response = await caller.send("POST", "/v1/disbursements", { body });
      if (response?.status !== 200) violate(`a neighbour's create returned ${response?.status}`);
      times.create.push(performance.now() - begun);
      await arrived;
      times.webhook.push(performance.now() - begun);
    }
    return times;
  }

  const clients = fork(new URL("neighbours-clients.ts", import.meta.url));
  const order = async (next: Order) => {
    const done = once(clients, "message");
    clients.send(next);
    await done;
  };
  try {
    const [kinds] = (await once(clients, "message")) as [Abuse[]];
    // The first start marks the database as a sandbox's.
    await launchAll([server]);
    await server.stop();
    const abusers = await prepare(world, kinds);
    await measure();
    const [ratios, slower] = [noTimes(), noTimes()];
    for (let round = 1; round <= rounds; round += 1) {
      await order({ abusers, dummy: true });
      const alone = await measure();
      await order({ abusers, dummy: false });
      const abused = await measure();
      await order({ abusers: [], dummy: true });
      for (const what of ["create", "webhook"] as const) {
        const [before, during] = [alone, abused].map((times) => quantile(sorted(times[what]), 0.95)) as [
          number,
          number,
        ];
        ratios[what].push(during / before);
        slower[what].push(during - before);
        print(`round ${round}: ${what} p95 ${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms abused`);
      }
    }
    for (const what of ["create", "webhook"] as const) {
      const [ratio, ms] = [ratios, slower].map((all) => quantile(sorted(all[what]), 0.5)) as [number, number];
      print(`${what}: p95 ${ratio.toFixed(2)} times the p95 alone`);
      if (ratio > MOST.ratio && ms > MOST.noiseMs)
        violate(`a neighbour's ${what} took ${ratio.toFixed(2)} times as long`);
    }
    // Exit code 1 says that work was left for the next start.
    await server.stop([0, 1]);
  } finally {
    clients.kill();
    await world.close();
    await receiver.close();
    await database.close();
  }
  return violations;
}
