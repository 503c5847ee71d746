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
import { createLink, signIn } from "../../server/domain/sign-in.ts";
import { openStorage } from "../../server/storage/open.ts";
import { aPayout, serve } from "../../server/testing/http.ts";
import { quantile, sorted } from "../bench/load.ts";
import type { Abuse, Abuser, Order } from "./neighbours-clients.ts";
import { FINAL } from "./payments.ts";
import { inParallel, judged, launchAll, withWorld, type RunOptions, type Violate, type World } from "./world.ts";

const MERCHANTS = 20;
const SESSIONS = 4;
const ROUND_MS = 3_000;
/** Payments that each abuser has at the beginning, so that lists and exports find many. */
const PAYMENTS = 500;
/** Numbers ending in 129 leave a payout pending. */
const PENDING = "2257038102129";
/** How much slower a neighbour may become. Differences below `noiseMs` are noise of the machine. */
const MOST = { ratio: 3, noiseMs: 10 };
const MEASURED = ["create", "webhook"] as const;

/** Durations in milliseconds. */
type Times = Record<(typeof MEASURED)[number], number[]>;

/** Stores merchants, with their keys and the sessions of their people, in the database of a server that has stopped. */
async function storeAbusers({ database, server }: World, kinds: readonly Abuse[]): Promise<Abuser[]> {
  const clock = createSystemClock();
  const storage = await openStorage(database.address, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "server a@b" as const };
  const abusers: Abuser[] = [];
  for (let index = 0; index < MERCHANTS; index += 1) {
    const kind = kinds[index % kinds.length]!;
    const { id: merchantId } = await createMerchant(context, `Abuser ${index}`);
    const person = { merchantId, name: "Ada", role: "administrator" } as const;
    const [keys, cookies]: string[][] = [[], []];
    while (keys!.length < (kind === "100 keys" ? 100 : 1)) keys!.push((await createKey(context, merchantId))!);
    while (cookies!.length < SESSIONS)
      cookies!.push(`dashboard=${await signIn(context, await createLink(context, person, context.actor))}`);
    abusers.push({ kind, merchantId, keys: keys!, cookies: cookies!, url: `http://127.0.0.1:${server.port}` });
  }
  await storage.close();
  return abusers;
}

/** Starts the clients of the abusers. Returns the kinds of abuse that they know, and how to give them an order. */
async function startClients() {
  const clients = fork(new URL("neighbours-clients.ts", import.meta.url));
  const [kinds] = (await once(clients, "message")) as [Abuse[]];
  return {
    kinds,
    async order(next: Order) {
      const done = once(clients, "message");
      clients.send(next);
      await done;
    },
    close: () => clients.kill(),
  };
}

/** Starts a receiver of webhooks. The returned function pays one after another and waits for each webhook. */
async function startPayer({ caller }: World, violate: Violate) {
  const arrivals = new Map<string, () => void>();
  const receiver = await serve(async (request, response) => {
    const { data } = JSON.parse(await text(request)) as { data: { merchantsReference: string } };
    arrivals.get(data.merchantsReference)?.();
    response.writeHead(204).end();
  });
  return {
    close: receiver.close,
    async measure(): Promise<Times> {
      const times: Times = { create: [], webhook: [] };
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
    },
  };
}

/** Lets other merchants abuse the server while one merchant pays, in turns with the dummy. Returns the violations. */
export const runNeighbours = (options: RunOptions & { rounds: number }): Promise<string[]> =>
  judged(options, (violate) =>
    // Exit code 1 says that work was left for the next start.
    withWorld({ ...options, database: "sqlite", exitCodes: [0, 1], violate }, async (world) => {
      const { rounds, print } = options;
      const { server, caller } = world;
      const [clients, payer] = [await startClients(), await startPayer(world, violate)];
      try {
        // The first start marks the database as a sandbox's.
        await launchAll([server]);
        await server.stop();
        const abusers = await storeAbusers(world, clients.kinds);
        await launchAll([server]);
        const keys = abusers.flatMap((abuser) => Array<string>(PAYMENTS).fill(abuser.keys[0]!));
        await inParallel(keys, 20, async (key) => {
          await caller.send("POST", "/v1/disbursements", { key, body: aPayout({ phoneNumber: PENDING }) });
        });
        await payer.measure();
        const [ratios, slower]: Times[] = [
          { create: [], webhook: [] },
          { create: [], webhook: [] },
        ];
        for (let round = 1; round <= rounds; round += 1) {
          await clients.order({ abusers, dummy: true });
          const alone = await payer.measure();
          await clients.order({ abusers, dummy: false });
          const abused = await payer.measure();
          await clients.order({ abusers: [], dummy: true });
          for (const what of MEASURED) {
            const [before, during] = [alone, abused].map((times) => quantile(sorted(times[what]), 0.95));
            ratios![what].push(during! / before!);
            slower![what].push(during! - before!);
            print(`round ${round}: ${what} p95 ${before!.toFixed(1)} ms alone, ${during!.toFixed(1)} ms abused`);
          }
        }
        for (const what of MEASURED) {
          const [ratio, ms] = [ratios, slower].map((all) => quantile(sorted(all![what]), 0.5));
          print(`${what}: p95 ${ratio!.toFixed(2)} times the p95 alone`);
          if (ratio! > MOST.ratio && ms! > MOST.noiseMs)
            violate(`a neighbour's ${what} took ${ratio!.toFixed(2)} times as long`);
        }
      } finally {
        clients.close();
        await payer.close();
      }
    }),
  );
