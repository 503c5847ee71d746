import { setTimeout as sleep } from "node:timers/promises";
import { startOwnPostgres, type OwnPostgres } from "../../server/testing/own-postgres.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { postgresDatabase } from "./database.ts";
import { startLoad } from "./load.ts";
import { disturbDatabase, type Disturbances, type Outage } from "./outages.ts";
import { NOTICED_MS, type Receiver } from "./receiver.ts";
import type { ServerUnderTest } from "./server.ts";
import { JUDGED_AFTER_MS, watchSpeed } from "./speed.ts";
import { createWorld, violationsOf, type World, type WorldOptions } from "./world.ts";

const PROCESSES = 4;
/** Many callers with long pauses, so that the number of payments per second hardly depends on how long each takes. */
const LOAD = { callers: 32, pauseMs: 2_000 };
/** The delay before a process that could not start is started again. */
const START_AGAIN_MS = 500;
/** The message of a process that ends because it was started while the database was unavailable. */
const NO_DATABASE = /Cannot open the PostgreSQL database|The database stopped working during the start/;
/** How long after an outage delayed work may still be late, in milliseconds. */
const AFTER_OUTAGE_MS = 5_000;

export interface ClusterOptions extends WorldOptions, Disturbances {
  /**
   * How soon another process must repeat an attempt of a process that was killed, in milliseconds. If absent, this is
   * not judged.
   */
  takeoverMs?: number;
}

/** Kills processes on one PostgreSQL server, which is disturbed too, under load. Returns the violations found. */
export async function runCluster(options: ClusterOptions): Promise<string[]> {
  const { violations, violate } = violationsOf(options.print);
  const postgres = await startOwnPostgres("durable");
  const database = postgresDatabase(postgres);
  let isOver = false;
  const startAgain = (server: ServerUnderTest, why: string) => {
    if (!NO_DATABASE.test(why)) violate(why);
    setTimeout(() => isOver || server.launch(), START_AGAIN_MS);
  };
  const world = await createWorld({ ...options, database, processes: PROCESSES, violate, onEnd: startAgain });
  try {
    const begun = performance.now();
    for (const server of world.servers) server.launch();
    for (const server of world.servers) await server.ready();
    // With a kill in the time of all starts, one start after the other takes a quarter of this machine's time. More
    // kills would show how slow the machine is. Even a short run gets a kill.
    const killEveryMs = Math.min(performance.now() - begun, options.milliseconds / 4);
    const outages = await underLoad(world, postgres, killEveryMs, options);
    if (options.takeoverMs) await checkTakeovers(world, outages, options.takeoverMs, options.print);
    for (const server of world.servers) await server.ready();
    options.print(await audit(world));
    isOver = true;
    await Promise.all(world.servers.map((server) => server.stop()));
    await database.check();
  } finally {
    isOver = true;
    await world.close();
    await database.close();
  }
  return violations;
}

/** Kills processes and disturbs the database under load, and checks the speed. Returns the outages. */
async function underLoad(
  world: World,
  postgres: OwnPostgres,
  killEveryMs: number,
  { seed, print, ...disturbances }: ClusterOptions,
): Promise<Outage[]> {
  world.receiver.behave("slow");
  const stopLoad = startLoad(world.payments, seededRandom(seed + 2), LOAD);
  const speed = watchSpeed(world.payments);
  const outages: Outage[] = [];
  const stopKilling = killProcesses({
    servers: world.servers,
    everyMs: killEveryMs,
    random: seededRandom(seed + 4),
    // A start takes much more of this machine than the load does. It would be judged instead of the recovery.
    mayKill: () => !outages.some(({ to }) => performance.now() < to + JUDGED_AFTER_MS),
    // The database may be unavailable.
    onKill: (at) => void followClaims(world.receiver, postgres, at).catch(() => undefined),
  });
  await disturbDatabase(postgres, seededRandom(seed + 3), { ...disturbances, print }, outages);
  const { wrong, numbers } = speed.judge(outages);
  const kills = await stopKilling();
  await stopLoad();
  wrong.forEach(world.violate);
  const often = `one in ${(killEveryMs / 1_000).toFixed(1)} s`;
  print(`${kills} processes killed, ${often}; ${numbers}; slowest request ${world.caller.slowest().toFixed(0)} ms`);
  return outages;
}

interface Kills {
  servers: readonly ServerUnderTest[];
  everyMs: number;
  random: SeededRandom;
  mayKill(): boolean;
  /** Called with the time of each kill. */
  onKill(at: number): void;
}

/** Kills one process after the other, and starts it again. The returned function ends this and returns the number of kills. */
function killProcesses({ servers, everyMs, random, mayKill, onKill }: Kills): () => Promise<number> {
  const stopping = new AbortController();
  const killing = (async () => {
    for (let count = 0; ;) {
      await sleep(everyMs * (0.5 + random.next()), undefined, stopping).catch(() => undefined);
      if (stopping.signal.aborted) return count;
      if (!mayKill()) continue;
      const server = servers[count % servers.length]!;
      count += 1;
      await server.kill();
      onKill(performance.now());
      server.launch();
    }
  })();
  return () => {
    stopping.abort();
    return killing;
  };
}

/**
 * Finds interrupted attempts that have been claimed again since the previous kill. The process with the new claim may
 * have been killed before it sent anything, which the receiver cannot see. Therefore the time limit for such an attempt
 * starts again, but only once, so that a claim that never leads to an attempt is still found.
 */
async function followClaims({ abandoned }: Receiver, postgres: OwnPostgres, killedAt: number) {
  await sleep(NOTICED_MS);
  const waiting = abandoned.filter(({ repeatedAt }) => !repeatedAt);
  const ids = waiting.map(({ id }) => `'${id}'`).join();
  if (ids === "") return;
  const rows = await postgres.run(`SELECT id, claim_token::int AS token FROM events WHERE id IN (${ids})`);
  const tokens = new Map(rows.map(({ id, token }) => [id as string, token as number]));
  for (const each of waiting) {
    const token = tokens.get(each.id)!;
    if (each.token !== undefined && token > each.token && !each.isClaimedTwice) {
      each.isClaimedTwice = true;
      each.at = killedAt;
    }
    each.token = token;
  }
}

/** Checks how soon the attempts of killed processes were made again, except while the database was unavailable. */
async function checkTakeovers(
  { receiver, violate }: World,
  outages: readonly Outage[],
  takeoverMs: number,
  print: (line: string) => void,
) {
  const end = performance.now() + takeoverMs;
  while (receiver.abandoned.some((one) => !one.repeatedAt) && performance.now() < end) await sleep(100);
  const now = performance.now();
  const times: number[] = [];
  for (const { id, at, repeatedAt = now } of receiver.abandoned) {
    if (outages.some(({ from, to }) => from < repeatedAt && at < to + AFTER_OUTAGE_MS)) continue;
    times.push(repeatedAt - at);
    if (repeatedAt - at > takeoverMs) violate(`${id} was attempted again after ${(repeatedAt - at).toFixed(0)} ms`);
  }
  const interrupted = receiver.abandoned.length;
  const twice = receiver.abandoned.filter(({ isClaimedTwice }) => isClaimedTwice).length;
  if (interrupted === 0) violate("no attempt was interrupted by a kill");
  const latest = Math.max(0, ...times).toFixed(0);
  const what = `${interrupted} attempts interrupted, ${twice} of them twice; ${times.length} outside outages`;
  print(`${what}, the latest repeated after ${latest} ms`);
}
