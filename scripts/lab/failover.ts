import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { postgresDatabase } from "./database.ts";
import { startLoad } from "./payments.ts";
import { installedPostgres, startPair, type Pair } from "./standby.ts";
import { createWorld, launchAll, Missing, violationsOf, type RunOptions, type World } from "./world.ts";

const PROCESSES = 2;
/** The longest time from a confirmed commit until its response arrives, in milliseconds. */
const UNDER_WAY_MS = 1_000;

interface FailoverOptions extends RunOptions {
  /** How long to create payments before the failover, and after it, in milliseconds. */
  loadMs: number;
  /** How long the standby is frozen, in milliseconds. */
  frozenMs: number;
  /** How soon after the promotion a payment must be acknowledged, in milliseconds. */
  backMs: number;
}

/**
 * Kills a primary under load and promotes its synchronous standby behind the same address. Returns the violations found.
 * @throws Missing without PostgreSQL as Debian packages it, or as a root that cannot act as another user
 */
export async function runFailover(options: FailoverOptions): Promise<string[]> {
  const { seed, print, loadMs, frozenMs, backMs } = options;
  const programs = installedPostgres();
  if (!programs) throw new Missing("PostgreSQL is not installed as Debian packages it (apt-get install postgresql)");
  const { violations, violate } = violationsOf(print);
  const pair = await startPair(programs);
  const database = postgresDatabase(pair);
  const world = await createWorld({ ...options, database, processes: PROCESSES, violate });
  try {
    await launchAll(world.servers);
    const stopLoad = startLoad(world.payments, seededRandom(seed + 2));
    await sleep(loadMs);
    await failOver(pair, world, frozenMs, print);
    await backAfter(world, backMs, print);
    await sleep(loadMs);
    await stopLoad();
    print(await audit(world));
    await Promise.all(world.servers.map((server) => server.stop()));
    await database.check();
  } finally {
    await world.close();
    await database.close();
  }
  return violations;
}

/**
 * Freezes the standby, kills the primary and promotes the standby. A payment that is acknowledged while the frozen
 * standby cannot confirm it would be lost with the primary.
 */
async function failOver(pair: Pair, { payments, violate }: World, frozenMs: number, print: (line: string) => void) {
  print(`${payments.acknowledged()} payments acknowledged with the standby`);
  await pair.freezeStandby();
  await sleep(UNDER_WAY_MS);
  const before = payments.acknowledged();
  await sleep(frozenMs);
  const unconfirmed = payments.acknowledged() - before;
  if (unconfirmed > 0) violate(`${unconfirmed} payments were acknowledged without the standby`);
  await pair.killPrimary();
  const killed = performance.now();
  await pair.promote();
  print(`promoted ${(performance.now() - killed).toFixed(0)} ms after the kill`);
}

async function backAfter({ payments, violate }: World, backMs: number, print: (line: string) => void) {
  const promoted = performance.now();
  await payments.payout();
  const tookMs = performance.now() - promoted;
  if (tookMs > backMs) violate(`the service was back after ${tookMs.toFixed(0)} ms`);
  print(`back ${tookMs.toFixed(0)} ms after the promotion`);
}
