import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { eventId } from "../../server/domain/events.ts";
import { openStorage } from "../../server/storage/open.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import type { Storage } from "./database.ts";
import { BAD_GATEWAY, startProxy, type NetworkFault } from "./proxy.ts";
import type { ServerUnderTest } from "./server.ts";
import { inParallel, judged, launchAll, withWorld, type RunOptions, type Violate, type World } from "./world.ts";

/** The gateway is several processes only on PostgreSQL. */
const GATEWAYS = { sqlite: 1, postgres: 3 };
const CALLERS = 16;
/** The average time between two kills, in milliseconds, unless the load is shorter. */
const KILL_EVERY_MS = { gateway: 5_000, rail: 7_000 };
/** How long payments may take to end after the last fault, in milliseconds. */
const END_MS = 300_000;
const FAULTS: readonly NetworkFault[] = [
  "request lost",
  "response lost",
  "request delayed",
  "response delayed",
  "response cut",
  "request repeated",
  "page instead of the request",
  "page instead of the response",
];

interface RailsOptions extends RunOptions {
  storage: Storage;
  /** The share of requests and webhooks between gateway and rail with a fault. */
  share: number;
  /** The longest delay between gateway and rail, in milliseconds. */
  delayMs: number;
  payouts: number;
  /** How long the creates take at least, so that processes are killed meanwhile. */
  loadMs: number;
}

/**
 * Pays through a gateway, over a faulty network to its rail, a sandbox of this server, while both are killed. Afterwards the rail must have
 * each payout once, and the gateway must report each payout as the rail does. Returns the violations found.
 */
export const runRails = (options: RailsOptions): Promise<string[]> =>
  judged(options, (violate) => {
    const env = { WEBHOOK_ALLOW_PRIVATE: "true" };
    const database = options.storage;
    return withWorld({ ...options, database, env, violate, deadlineMs: 60_000 }, (rail) =>
      withGateway(rail, options, violate),
    );
  });

async function withGateway(rail: World, options: RailsOptions, violate: Violate): Promise<void> {
  const { storage: database, seed, share, delayMs, print } = options;
  const network = (ports: readonly number[], seedOfNetwork: number) =>
    startProxy({ ports, seed: seedOfNetwork, share, delayMs, faults: FAULTS, pages: BAD_GATEWAY });
  const ports: number[] = [];
  const [toRail, toGateway] = [await network([rail.server.port], seed + 7), await network(ports, seed)];
  const env = {
    SANDBOX: "false",
    BALANCES: "tracked",
    RAIL_URL: toRail.url,
    RAIL_API_KEY_FILE: rail.fileWith("key", rail.key),
    RAIL_WEBHOOK_SECRET_FILE: rail.fileWith("secret", (await rail.caller.read("/sandbox/webhook-secret")).secret),
    PUBLIC_URL: toGateway.url,
    WEBHOOK_ALLOW_PRIVATE: "true",
    WEBHOOK_ALLOW_INSECURE: "true",
  };
  try {
    await withWorld({ ...options, database, processes: GATEWAYS[database], violate, env }, async (gateway) => {
      ports.push(...gateway.servers.map(({ port }) => port));
      for (const receiver of gateway.receivers) receiver.behave("healthy");
      await underLoad(gateway, rail, seededRandom(seed + 8), options);
      for (const { heal, counts } of [toRail, toGateway]) {
        heal();
        print(JSON.stringify(counts));
      }
      await launchAll([...rail.servers, ...gateway.servers]);
      await untilEnded(gateway);
      print(await compare(gateway, rail));
    });
  } finally {
    await Promise.all([toRail.close(), toGateway.close()]);
  }
}

/** Creates payouts while both sides are killed. */
async function underLoad(gateway: World, rail: World, random: SeededRandom, { payouts, loadMs, print }: RailsOptions) {
  // A random pause takes half of the longest pause on average.
  const longestPauseMs = (2 * loadMs * CALLERS) / payouts;
  const stopping = new AbortController();
  const every = (ms: number) => Math.min(ms, 0.75 * loadMs);
  const kills = [
    killAgain(gateway.servers, every(KILL_EVERY_MS.gateway), random, stopping.signal),
    killAgain(rail.servers, every(KILL_EVERY_MS.rail), random, stopping.signal),
  ];
  const begun = performance.now();
  await inParallel(Array(payouts).keys(), CALLERS, async () => {
    await gateway.payments.payout();
    await sleep(random.below(longestPauseMs));
  });
  stopping.abort();
  const [gateways, rails] = await Promise.all(kills);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  print(`${payouts} payouts in ${seconds} s; ${gateways} kills of the gateway, ${rails} of the rail`);
}

/** Kills one process after the other and starts it again, until the signal. Resolves with the number of kills. */
async function killAgain(
  servers: readonly ServerUnderTest[],
  everyMs: number,
  random: SeededRandom,
  signal: AbortSignal,
): Promise<number> {
  for (let count = 0; ; count += 1) {
    await sleep(everyMs * (0.5 + random.next()), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return count;
    // A start may take longer than the time between two kills, and a process must work in between.
    await servers[count % servers.length]!.crash();
  }
}

/** Asks the rail about every open payment, as an operator would, until every payment has ended. */
async function untilEnded({ payments, database, violate }: World) {
  const storage = await openStorage(database.address, { clock: createSystemClock(), server: false });
  const references = payments.all.flatMap(({ acknowledged }) => acknowledged ?? []);
  try {
    const until = performance.now() + END_MS;
    for (;;) {
      const figures = await storage.readHandoverFigures();
      const open = figures.reduce((sum, { waiting, accepted }) => sum + waiting + accepted, 0);
      if (open === 0) {
        for (const { rail, conflicts } of figures) if (conflicts > 0) violate(`${conflicts} conflicts with ${rail}`);
        return;
      }
      if (performance.now() > until) return violate(`${open} payments are still open: ${JSON.stringify(figures)}`);
      for (const reference of references) {
        const handover = await storage.findHandover(reference);
        if (handover && handover.state !== "closed") await storage.askRailAgain(reference, "command lab@test");
      }
      await sleep(1_000);
    }
  } finally {
    await storage.close();
  }
}

/** Compares the gateway's records with the requests, with the rail's records, and with what merchants' receivers got. */
async function compare(gateway: World, rail: World): Promise<string> {
  const { caller, payments, receivers, violate } = gateway;
  const paid = new Map<string, any>();
  for await (const record of rail.caller.list("/v1/disbursements")) {
    if (paid.has(record.merchantsReference)) violate(`the rail has ${record.merchantsReference} twice`);
    paid.set(record.merchantsReference, record);
  }
  const requested = new Map(payments.all.map((payment) => [payment.request.reference, payment]));
  const statuses: Record<string, number> = {};
  for await (const record of caller.list("/v1/disbursements")) {
    const { id, reference, merchantsReference, status, amount, customer } = record;
    statuses[status] = (statuses[status] ?? 0) + 1;
    const { request, acknowledged = reference } = requested.get(merchantsReference) ?? {};
    requested.delete(merchantsReference);
    if (request?.amount !== amount || acknowledged !== reference) violate(`${reference} differs from its request`);
    const there = paid.get(reference);
    paid.delete(reference);
    if (!there) violate(`the rail does not have ${reference}`);
    else if (there.status !== status || there.amount !== amount || there.customer.phoneNumber !== customer.phoneNumber)
      violate(`${reference} is ${status} of ${amount}, and at the rail ${there.status} of ${there.amount}`);
    if (status === "pending") violate(`${reference} is pending`);
    else if (!receivers.some(({ received }) => received.has(eventId(id))))
      violate(`no webhook of ${reference} arrived`);
  }
  for (const reference of paid.keys()) violate(`the rail has ${reference}, which the gateway does not know`);
  for (const reference of requested.keys()) violate(`${reference} is not listed`);
  return `compared with the rail: ${JSON.stringify(statuses)}; ${payments.ambiguous()} creates repeated`;
}
