// Compares a merchant's creates and webhooks in two conditions. In one, clients of other merchants abuse the server. In
// the other, the same clients send the same requests to a dummy server in their own process. The conditions differ only
// in the work of the server. This file is the process of these clients too.
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { createIds } from "../../server/domain/ids.ts";
import { createKey, createMerchant } from "../../server/domain/merchants.ts";
import { createLink, signIn } from "../../server/domain/sign-in.ts";
import { openStorage } from "../../server/storage/open.ts";
import { aPayout, serve } from "../../server/testing/http.ts";
import { middle, quantile } from "../bench/load.ts";
import { FINAL } from "./payments.ts";
import { inParallel, inWorld, launchAll, type RunOptions, type World } from "./world.ts";

const MERCHANTS = 20;
const SESSIONS = 4;
const ROUND_MS = 3_000;
/** Payments that each abuser has at the beginning, so that lists and exports find many. */
const PAYMENTS = 500;
/** Numbers ending in 129 leave a payout pending. */
const PENDING = "2257038102129";
/** Four repetitions of an abuse run at once, and each starts every 40 ms: at most 100 a second for each merchant. */
const AT_ONCE = 4;
const EVERY_MS = 40;
/** How much slower a neighbour may become. Differences below `noiseMs` are noise of the machine. */
const MOST = { ratio: 3, noiseMs: 10 };

/** A merchant that abuses the server in one way. */
interface Abuser {
  kind: keyof typeof ABUSES;
  /** The server's address, and that of a receiver that never responds. */
  url: string;
  silent: string;
  merchantId: string;
  keys: readonly string[];
  /** The session cookies of the merchant's people. */
  cookies: readonly string[];
}

/** Lets these merchants abuse the server, or the dummy, until the next order. */
interface Order {
  abusers: readonly Abuser[];
  dummy: boolean;
}

type Call = (abuser: Abuser, turn: number, signal: AbortSignal) => Promise<unknown>;

async function send({ url, keys }: Abuser, path: string, turn: number, signal: AbortSignal, body?: object) {
  const headers = { "x-api-key": keys[turn % keys.length]!, "content-type": "application/json" };
  const sent = body && { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { headers, signal, ...sent });
  return (await response.json()) as { data?: { items?: { id: string }[] } };
}

const page =
  (path: string): Call =>
  async ({ url, merchantId, cookies }, turn, signal) => {
    const headers = { cookie: cookies[turn % cookies.length]! };
    return (await fetch(`${url}/dashboard/m/${merchantId}/${path}`, { headers, signal })).text();
  };

const pay: Call = (abuser, turn, signal) =>
  send(abuser, "/v1/disbursements", turn, signal, aPayout({ phoneNumber: FINAL, webhookURL: abuser.silent }));

/** What each kind of abuser repeats as long as a round lasts. */
const ABUSES = {
  "slow receivers": pay,
  async replays(abuser, turn, signal) {
    const { data } = await send(abuser, "/sandbox/deliveries?limit=100", turn, signal);
    const items = data?.items ?? [];
    if (items.length < 100) await pay(abuser, turn, signal);
    const replays = items.map(({ id }) => send(abuser, `/sandbox/deliveries/${id}/replay`, turn, signal, {}));
    await Promise.allSettled(replays);
  },
  exports: page("disbursements.csv"),
  searches: page("webhooks?host=nowhere.example"),
  streams: page("live"),
  lists: (abuser, turn, signal) => send(abuser, "/v1/disbursements?limit=100", turn, signal),
  "100 keys": (abuser, turn, signal) => send(abuser, "/v1/disbursements", turn, signal, aPayout()),
} satisfies Record<string, Call>;

async function abuse(abuser: Abuser, signal: AbortSignal): Promise<void> {
  const repeat = async (first: number) => {
    for (let turn = first; !signal.aborted; turn += AT_ONCE) {
      const pause = sleep(EVERY_MS);
      // Refusals are expected.
      await ABUSES[abuser.kind](abuser, turn, signal).catch(() => undefined);
      await pause;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => repeat(first)));
}

/** Follows orders, at the lowest priority: with the processor time that the server and the measurement leave. */
async function followOrders() {
  setPriority(constants.priority.PRIORITY_LOW);
  const silent = await serve((request) => void request.resume());
  // As long as an ordinary page of a list.
  const body = JSON.stringify({ statusCode: 200, data: { items: [], filler: "x".repeat(10_000) } });
  const dummy = await serve((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(body));
  });
  let ending = new AbortController();
  let abusing: Promise<unknown> = Promise.resolve();
  process.on("message", async (order: Order) => {
    ending.abort();
    await abusing;
    ending = new AbortController();
    const { signal } = ending;
    const target = { silent: silent.url, ...(order.dummy && { url: dummy.url }) };
    abusing = Promise.all(order.abusers.map((abuser) => abuse({ ...abuser, ...target }, signal)));
    process.send!("done");
  });
  process.on("disconnect", () => process.exit(0));
  process.send!("ready");
}

/** Stores merchants, with their keys and the sessions of their people, in the database of a server that has stopped. */
async function storeAbusers({ database, server }: World): Promise<Abuser[]> {
  const clock = createSystemClock();
  const storage = await openStorage(database.address, { clock, server: false });
  const context = { storage, clock, ids: createIds(randomBytes), random: randomBytes, actor: "server a@b" as const };
  const kinds = Object.keys(ABUSES) as Abuser["kind"][];
  const abusers: Abuser[] = [];
  for (let index = 0; index < MERCHANTS; index += 1) {
    const kind = kinds[index % kinds.length]!;
    const { id: merchantId } = await createMerchant(context, `Abuser ${index}`);
    const person = { merchantId, name: "Ada", role: "administrator" } as const;
    const [keys, cookies]: string[][] = [[], []];
    while (keys!.length < (kind === "100 keys" ? 100 : 1)) keys!.push((await createKey(context, merchantId))!);
    while (cookies!.length < SESSIONS)
      cookies!.push(`dashboard=${await signIn(context, await createLink(context, person, context.actor))}`);
    abusers.push({ kind, merchantId, keys: keys!, cookies: cookies!, url: server.url, silent: "" });
  }
  await storage.close();
  return abusers;
}

/** Starts a receiver of webhooks. `measure` sends one payout after another and waits for the webhook of each. */
async function startPayer({ caller, violate }: World) {
  const arrivals = new Map<string, () => void>();
  const receiver = await serve(async (request, response) => {
    const { data } = JSON.parse(await text(request)) as { data: { merchantsReference: string } };
    arrivals.get(data.merchantsReference)?.();
    response.writeHead(204).end();
  });
  return {
    close: receiver.close,
    /** Returns the p95 of creates and of webhooks, in milliseconds. */
    async measure() {
      const times = { create: [] as number[], webhook: [] as number[] };
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
      return { create: quantile(times.create, 0.95), webhook: quantile(times.webhook, 0.95) };
    },
  };
}

/** Lets other merchants abuse the server while one merchant pays, in turns with the dummy. Returns the violations. */
export const runNeighbours = (options: RunOptions & { rounds: number }): Promise<string[]> =>
  // Exit code 1 says that work was left for the next start.
  inWorld({ ...options, database: "sqlite", exitCodes: [0, 1] }, async (world) => {
    const { server, caller, violate } = world;
    const payer = await startPayer(world);
    const clients = fork(import.meta.filename);
    /** Sends an order and waits until it is followed. Without an order, waits until the clients have started. */
    const order = async (next?: Order) => {
      if (next) clients.send(next);
      await once(clients, "message");
    };
    try {
      await order();
      // The first start was needed to mark the database as a sandbox's.
      await server.stop();
      const abusers = await storeAbusers(world);
      await launchAll([server]);
      const keys = abusers.flatMap((abuser) => Array<string>(PAYMENTS).fill(abuser.keys[0]!));
      await inParallel(keys, 20, async (key) => {
        await caller.send("POST", "/v1/disbursements", { key, body: aPayout({ phoneNumber: PENDING }) });
      });
      await payer.measure();
      const rounds: Record<"alone" | "abused", Awaited<ReturnType<typeof payer.measure>>>[] = [];
      while (rounds.length < options.rounds) {
        await order({ abusers, dummy: true });
        const alone = await payer.measure();
        await order({ abusers, dummy: false });
        rounds.push({ alone, abused: await payer.measure() });
        await order({ abusers: [], dummy: true });
      }
      for (const what of ["create", "webhook"] as const) {
        for (const { alone, abused } of rounds)
          options.print(`${what}: p95 ${alone[what].toFixed(1)} ms alone, ${abused[what].toFixed(1)} ms abused`);
        const ratio = middle(rounds.map(({ alone, abused }) => abused[what] / alone[what]));
        const slowerMs = middle(rounds.map(({ alone, abused }) => abused[what] - alone[what]));
        options.print(`${what}: p95 ${ratio.toFixed(2)} times the p95 alone`);
        if (ratio > MOST.ratio && slowerMs > MOST.noiseMs)
          violate(`a neighbour's ${what} took ${ratio.toFixed(2)} times as long`);
      }
    } finally {
      clients.kill();
      await payer.close();
    }
  });

if (import.meta.main) await followOrders();
