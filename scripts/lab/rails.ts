import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { eventId } from "../../server/domain/events.ts";
import { openStorage, type DatabaseAddress } from "../../server/storage/open.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { everyItem } from "./audit.ts";
import { createCaller, type Caller } from "./caller.ts";
import { certify } from "./certify.ts";
import { DATABASES, fileOf, type Database, type Storage } from "./database.ts";
import { BAD_GATEWAY, startProxy, type NetworkFault, type Proxy } from "./proxy.ts";
import { prepareServer, type ServerUnderTest } from "./server.ts";
import { createWorld, launchAll, violationsOf, type RunOptions, type World } from "./world.ts";

/** The gateway is several processes only on PostgreSQL. */
const GATEWAYS = { sqlite: 1, postgres: 3 };
const CALLERS = 16;
const RAIL_KEY = "a-key-for-the-gateway-at-its-rail";
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

interface ChainOptions extends RunOptions {
  storage: Storage;
  /** The share of requests and webhooks between gateway and rail with a fault. */
  share: number;
  /** The longest delay between gateway and rail, in milliseconds. */
  delayMs: number;
}

/** A gateway, and its rail, which is a sandbox of this server, with a faulty network between them. */
interface Chain {
  world: World;
  rail: ServerUnderTest;
  atRail: Caller;
  /** The network to the rail, and the network back. */
  networks: readonly Proxy[];
  /** The gateway's database. */
  database: Database;
}

/** Starts a gateway and its rail, passes them to `use`, and checks what both have stored. */
async function withChain(
  { storage, share, delayMs, ...options }: ChainOptions,
  violate: (what: string) => void,
  use: (chain: Chain) => Promise<void>,
): Promise<void> {
  const network = (ports: readonly number[], seed: number) =>
    startProxy({ ports, seed, share, delayMs, faults: FAULTS, pages: BAD_GATEWAY });
  const folder = mkdtempSync(join(tmpdir(), "rail-"));
  const fileWith = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [database, railDatabase] = [await DATABASES[storage](), await DATABASES[storage]()];
  const closers = [railDatabase.close, database.close, async () => rmSync(folder, { recursive: true })];
  try {
    const rail = await prepareServer({
      databaseUrl: railDatabase.url,
      key: RAIL_KEY,
      env: { WEBHOOK_ALLOW_PRIVATE: "true" },
      violate,
      onEnd: () => undefined,
    });
    closers.unshift(rail.kill);
    await launchAll([rail]);
    const atRail = createCaller({ ports: [rail.port], key: RAIL_KEY, deadlineMs: 60_000, violate });
    const gatewayPorts: number[] = [];
    const [toRail, toGateway] = [
      await network([rail.port], options.seed + 7),
      await network(gatewayPorts, options.seed),
    ];
    closers.unshift(toRail.close, toGateway.close);
    const world = await createWorld({
      ...options,
      database,
      processes: GATEWAYS[storage],
      violate,
      env: {
        SANDBOX: "false",
        BALANCES: "tracked",
        RAIL_URL: toRail.url,
        RAIL_API_KEY_FILE: fileWith("key", RAIL_KEY),
        RAIL_WEBHOOK_SECRET_FILE: fileWith("secret", (await atRail.read("/sandbox/webhook-secret")).secret),
        PUBLIC_URL: toGateway.url,
        WEBHOOK_ALLOW_PRIVATE: "true",
        WEBHOOK_ALLOW_INSECURE: "true",
      },
    });
    closers.unshift(world.close);
    gatewayPorts.push(...world.servers.map(({ port }) => port));
    for (const receiver of world.receivers) receiver.behave("healthy");
    await launchAll(world.servers);

    await use({ world, rail, atRail, networks: [toRail, toGateway], database });
    await Promise.all([rail, ...world.servers].map((server) => server.stop()));
    await database.check();
    await railDatabase.check();
  } finally {
    for (const close of closers) await close();
  }
}

/**
 * Pays through a gateway, over a faulty network to its rail, while both sides are killed. Afterwards the rail must have
 * each payout once, and the gateway must report each payout as the rail does. Returns the violations found.
 * @param options.loadMs how long the creates take at least, so that processes are killed meanwhile
 */
export async function runRails(options: ChainOptions & { payouts: number; loadMs: number }): Promise<string[]> {
  const { seed, print } = options;
  const { violations, violate } = violationsOf(print);
  await withChain(options, violate, async (chain) => {
    const { world, rail, networks } = chain;
    await underLoad(chain, seededRandom(seed + 8), options);
    for (const network of networks) {
      network.heal();
      print(JSON.stringify(network.counts));
    }
    await launchAll([rail, ...world.servers]);
    await untilEnded(chain, violate);
    print(await compare(chain));
  });
  return violations;
}

/** Runs the conformance suite, with all of profile `core`, on the gateway. Returns the violations found. */
export async function runCertifyRails(options: ChainOptions): Promise<string[]> {
  const { violations, violate } = violationsOf(options.print);
  await withChain(options, violate, async ({ world, networks }) => {
    const target = ["--base-url", `http://127.0.0.1:${world.server.port}`, "--profile", "core", "--effects", "money"];
    // A look-up may hang, and the next look-up is half a minute later.
    const more = [
      "--yes",
      "--failing-recipient",
      "2250000000089",
      "--max-total",
      "50000000",
      "--settle-timeout",
      "180",
    ];
    const { code, output } = await certify([...target, ...more, "--seed", String(options.seed)], world.key);
    for (const { counts } of networks) options.print(JSON.stringify(counts));
    if (code !== 0) violate(`the suite ended with ${code}: ${output.slice(-8_000)}`);
    else options.print(output.trim().split("\n").slice(-12).join("\n"));
  });
  return violations;
}

/** Creates payouts while both sides are killed. */
async function underLoad(
  { world, rail }: Chain,
  random: SeededRandom,
  { payouts, loadMs, print }: { payouts: number; loadMs: number; print(line: string): void },
) {
  // A random pause takes half of the longest pause on average.
  const longestPauseMs = (2 * loadMs * CALLERS) / payouts;
  const stopping = new AbortController();
  const every = (ms: number) => Math.min(ms, 0.75 * loadMs);
  const kills = [
    killAgain(world.servers, every(KILL_EVERY_MS.gateway), random, stopping.signal),
    killAgain([rail], every(KILL_EVERY_MS.rail), random, stopping.signal),
  ];
  let left = payouts;
  const begun = performance.now();
  const work = async () => {
    while (left-- > 0) {
      await world.payments.payout();
      await sleep(random.below(longestPauseMs));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
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
    const server = servers[count % servers.length]!;
    await server.kill();
    server.launch();
    // A start may take longer than the time between two kills, and a process must work in between.
    await server.ready();
  }
}

/** Asks the rail about every open payment, as an operator would, until every payment has ended. */
async function untilEnded({ world, database }: Chain, violate: (what: string) => void) {
  const address: DatabaseAddress = database.url.startsWith("sqlite:")
    ? { kind: "sqlite", path: fileOf(database) }
    : { kind: "postgres", url: database.url };
  const storage = await openStorage(address, { clock: createSystemClock(), server: false });
  const references = world.payments.all.flatMap(({ acknowledged }) => acknowledged ?? []);
  try {
    const until = performance.now() + END_MS;
    for (;;) {
      const figures = await storage.readHandoverFigures();
      const open = figures.reduce((sum, { waiting, accepted }) => sum + waiting + accepted, 0);
      for (const { rail, conflicts } of open === 0 ? figures : [])
        if (conflicts > 0) violate(`${conflicts} conflicts with ${rail}`);
      if (open === 0) return;
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
async function compare({ world, atRail }: Chain): Promise<string> {
  const { caller, payments, receivers, violate } = world;
  const paid = new Map<string, any>();
  for await (const record of everyItem(atRail, "/v1/disbursements")) {
    if (paid.has(record.merchantsReference)) violate(`the rail has ${record.merchantsReference} twice`);
    paid.set(record.merchantsReference, record);
  }
  const requested = new Map(payments.all.map((payment) => [payment.request.reference, payment]));
  const statuses: Record<string, number> = {};
  for await (const record of everyItem(caller, "/v1/disbursements")) {
    const { id, reference, merchantsReference, status, amount, customer } = record as any;
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
