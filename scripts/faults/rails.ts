import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../server/domain/clock.ts";
import { eventId } from "../../server/domain/events.ts";
import type { Storage as ServerStorage } from "../../server/domain/storage.ts";
import { openStorage, type DatabaseAddress } from "../../server/storage/open.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { everyItem } from "./audit.ts";
import { certify } from "./certified.ts";
import { DATABASES, fileOf, type Database, type Storage } from "./database.ts";
import { startHostileNetwork, type HostileNetwork } from "./hostile-network.ts";
import type { Payment } from "./payments.ts";
import { startRailSide, type LedgerEntry, type RailSide } from "./rail-side.ts";
import type { ServerUnderTest } from "./server.ts";
import { createWorld, violationsOf, type World, type WorldOptions } from "./world.ts";

/** The gateway is several processes only on PostgreSQL. */
const GATEWAYS = { sqlite: 1, postgres: 3 };
const CALLERS = 16;
/** How long the creates take at least, in milliseconds. */
const LOAD_MS = 60_000;
/** The average time between two kills in a long run, in milliseconds. */
const KILL_EVERY_MS = { gateway: 5_000, rail: 7_000 };
/** How long payments may take to end after the last fault, in milliseconds. */
const END_MS = 300_000;

export interface RailsOptions extends WorldOptions {
  storage: Storage;
  payouts: number;
  /** The share of requests and webhooks between gateway and rail with a fault. */
  share?: number;
  hangMs?: number;
  /** How long the creates take at least, in milliseconds, so that processes are killed meanwhile. */
  loadMs?: number;
}

/** A gateway and its rail, with a faulty network between them. */
interface Chain {
  world: World;
  rail: RailSide;
  /** The network to the rail, and the network back. */
  networks: readonly HostileNetwork[];
  /** The gateway's database. */
  database: Database;
}

/** Starts a gateway and its rail, passes them to `use`, and checks what both have stored. */
async function withChain(
  { storage, share = 0.35, hangMs = 30_000, ...options }: Omit<RailsOptions, "payouts">,
  violate: (what: string) => void,
  use: (chain: Chain) => Promise<void>,
): Promise<void> {
  const random = seededRandom(options.seed + 7);
  const database = await DATABASES[storage]();
  const ends: (() => unknown)[] = [];
  try {
    const gatewayPorts: number[] = [];
    const toGateway = await startHostileNetwork({ random, share, hangMs, ports: gatewayPorts });
    ends.push(toGateway.close);
    const rail = await startRailSide(storage, violate);
    ends.push(rail.close);
    const toRail = await startHostileNetwork({ random, share, hangMs, ports: [rail.server.port] });
    ends.push(toRail.close);
    const world = await createWorld({
      ...options,
      database,
      processes: GATEWAYS[storage],
      violate,
      env: {
        SANDBOX: "false",
        BALANCES: "tracked",
        ...rail.variables(toRail.url),
        PUBLIC_URL: toGateway.url,
        WEBHOOK_ALLOW_PRIVATE: "true",
        WEBHOOK_ALLOW_INSECURE: "true",
      },
    });
    ends.push(world.close);
    gatewayPorts.push(...world.servers.map(({ port }) => port));
    for (const receiver of world.receivers) receiver.behave("healthy");
    for (const server of world.servers) server.launch();
    for (const server of world.servers) await server.ready();

    await use({ world, rail, networks: [toRail, toGateway], database });
    await Promise.all([rail.server, ...world.servers].map((server) => server.stop()));
    await database.check();
    await rail.check();
  } finally {
    for (const end of ends.toReversed()) await end();
    await database.close();
  }
}

/**
 * Pays through a gateway, over a faulty network to its rail, while both sides are killed and the rail's database
 * restarts. Afterwards the rail must have each payout once, and the gateway must report each payout as the rail does.
 * Returns the violations found.
 */
export async function runRails({ payouts, loadMs = LOAD_MS, ...options }: RailsOptions): Promise<string[]> {
  const { seed, print } = options;
  const { violations, violate } = violationsOf(print);
  await withChain(options, violate, async (chain) => {
    const { world, rail, networks } = chain;
    await underLoad(chain, seededRandom(seed + 8), { payouts, loadMs, print });
    for (const network of networks) {
      network.heal();
      print(harmsOf(network));
    }
    for (const server of [rail.server, ...world.servers]) await server.ready();
    await untilEnded(chain, violate);
    print(await compare(world, rail));
  });
  return violations;
}

/**
 * Runs the conformance suite, with all of profile `core`, on the gateway. Returns the violations found.
 * @param options.share the share of requests and webhooks between gateway and rail with a fault
 */
export async function runCertifyRails(options: Omit<RailsOptions, "payouts">): Promise<string[]> {
  const { print, seed } = options;
  const { violations, violate } = violationsOf(print);
  await withChain(options, violate, async ({ world, networks }) => {
    const args = [
      "--base-url",
      `http://127.0.0.1:${world.server.port}`,
      "--profile",
      "core",
      "--effects",
      "money",
      "--yes",
    ];
    // A look-up may hang, and the next look-up is half a minute later.
    const more = ["--failing-recipient", "2250000000089", "--max-total", "50000000", "--settle-timeout", "180"];
    const report = mkdtempSync(join(tmpdir(), "certified-"));
    const { code, output } = await certify([...args, ...more, "--seed", String(seed), "--report", report], world.key);
    rmSync(report, { recursive: true });
    for (const network of networks) print(harmsOf(network));
    if (code !== 0) violate(`the suite ended with ${code}: ${output.slice(-8_000)}`);
    else print(output.trim().split("\n").slice(-12).join("\n"));
  });
  return violations;
}

/** Creates payouts while both sides are killed, and the rail's database restarts. */
async function underLoad(
  { world, rail: { server: rail, crashDatabase } }: Chain,
  random: SeededRandom,
  { payouts, loadMs, print }: Required<Pick<RailsOptions, "payouts" | "loadMs" | "print">>,
) {
  // A random pause takes half of the longest pause on average.
  const longestPauseMs = (2 * loadMs * CALLERS) / payouts;
  const stopping = new AbortController();
  const kills = [
    killAgain(world.servers, Math.min(KILL_EVERY_MS.gateway, 0.75 * loadMs), random, stopping.signal),
    killAgain([rail], Math.min(KILL_EVERY_MS.rail, 0.75 * loadMs), random, stopping.signal),
  ];
  let left = payouts;
  const begun = performance.now();
  const middle = Math.floor(payouts / 2);
  let restart: Promise<void> | undefined;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      if (left === middle) restart = crashDatabase?.();
      await world.payments.payout();
      await sleep(random.below(longestPauseMs));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  await restart;
  stopping.abort();
  const [gateways, rails] = await Promise.all(kills);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  print(
    `${payouts} payouts in ${seconds} s; ${gateways} kills of the gateway, ${rails} of the rail` +
      `${crashDatabase ? ", one crash of the rail's database" : ""}; slowest request ${world.caller.slowest().toFixed(0)} ms`,
  );
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
    const server = servers[count % servers.length]!;
    if (signal.aborted) {
      for (const each of servers) each.launch();
      return count;
    }
    await server.kill();
    server.launch();
    // A start may take longer than the time between two kills, and a process must work in between.
    await server.ready();
  }
}

/**
 * Asks the rail about every open payment, as an operator would, and waits until every payment has ended or is known to
 * stay pending.
 */
async function untilEnded({ world, database }: Chain, violate: (what: string) => void) {
  const address: DatabaseAddress = database.url.startsWith("sqlite:")
    ? { kind: "sqlite", path: fileOf(database) }
    : { kind: "postgres", url: database.url };
  const storage: ServerStorage = await openStorage(address, { clock: createSystemClock(), server: false });
  const references = world.payments.all.flatMap(({ acknowledged }) => acknowledged ?? []);
  try {
    const until = performance.now() + END_MS;
    for (;;) {
      const figures = await storage.readHandoverFigures();
      const open = figures.reduce((sum, { waiting, accepted }) => sum + waiting + accepted, 0);
      if (open === 0) break;
      if (performance.now() > until) {
        violate(`${open} payments are still open: ${JSON.stringify(figures)}`);
        break;
      }
      for (const reference of references) {
        const handover = await storage.findHandover(reference);
        if (handover && handover.state !== "closed") await storage.askRailAgain(reference, "command faults@test");
      }
      await sleep(1_000);
    }
    for (const { rail, conflicts } of await storage.readHandoverFigures())
      if (conflicts > 0) violate(`${conflicts} conflicts with ${rail}`);
  } finally {
    await storage.close();
  }
}

/** Compares the gateway's records with the rail's, and with what merchants' receivers got. */
async function compare({ caller, payments, receivers, violate }: World, rail: RailSide): Promise<string> {
  const atRail = new Map<string, LedgerEntry>();
  for await (const entry of rail.ledger()) {
    if (atRail.has(entry.reference)) violate(`the rail has ${entry.reference} twice`);
    atRail.set(entry.reference, entry);
  }
  const expected = new Map(payments.all.map((one) => [one.request.reference, one]));
  let compared = 0;
  const statuses = new Map<string, number>();
  for await (const record of everyItem(caller, "/v1/disbursements")) {
    const { id, reference, merchantsReference, status, amount, customer } = record as any;
    compared += 1;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    checkRequest(expected.get(merchantsReference), record, violate);
    expected.delete(merchantsReference);
    const paid = atRail.get(reference);
    atRail.delete(reference);
    if (!paid) violate(`the rail does not have ${reference}`);
    else if (paid.status !== status || paid.amount !== amount || paid.phoneNumber !== customer.phoneNumber)
      violate(`${reference} is ${status} of ${amount}, and at the rail ${paid.status} of ${paid.amount}`);
    if (status === "pending") violate(`${reference} is pending`);
    else if (!receivers.some(({ received }) => received.has(eventId(id))))
      violate(`no webhook of ${reference} arrived`);
  }
  for (const reference of atRail.keys()) violate(`the rail has ${reference}, which the gateway does not know`);
  for (const reference of expected.keys()) violate(`${reference} is not listed`);
  const counts = [...statuses].map(([status, count]) => `${count} ${status}`).join(", ");
  return `${compared} payouts compared with the rail (${counts}; ${payments.ambiguous()} creates repeated)`;
}

function checkRequest(made: Payment | undefined, record: any, violate: (what: string) => void) {
  if (!made) violate(`${record.merchantsReference} was never requested`);
  else if (made.request.amount !== record.amount || (made.acknowledged ?? record.reference) !== record.reference)
    violate(`${record.reference} differs from its request`);
}

const harmsOf = ({ done }: HostileNetwork) =>
  [...done]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
