// The experiments that apply faults to a service under load: random faults of all kinds, kills, and a cluster on one
// PostgreSQL server.
import { setTimeout as sleep } from "node:timers/promises";
import { startOwnPostgres, type OwnPostgres } from "../../server/testing/own-postgres.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { CALLER_FAULTS } from "./caller-faults.ts";
import { DATABASES, postgresDatabase, type Storage } from "./database.ts";
import { startLoad, type Load } from "./payments.ts";
import { CLUSTER_FAULTS, KILL, SERVER_FAULTS } from "./server-faults.ts";
import type { ServerUnderTest } from "./server.ts";
import { createWorld, launchAll, violationsOf, type Fault, type RunOptions, type World } from "./world.ts";

interface Plan extends RunOptions {
  storage: Storage;
  processes?: number;
  faults: readonly Fault[];
  /** How often to apply all faults, or for how long to apply faults, in milliseconds. */
  rounds?: number;
  milliseconds?: number;
  /** How long the service may take to record a payout after a fault has ended, start included. */
  recoveryMs: number;
  load?: Load;
}

type Duration = Pick<Plan, "milliseconds" | "rounds">;

/** Faults of all kinds, in random order. */
export const runRandom = (options: RunOptions & Duration & Pick<Plan, "recoveryMs">) =>
  runFaults({ ...options, storage: "sqlite", faults: [...SERVER_FAULTS, ...CALLER_FAULTS] });

/** Kills a server again and again. Its database must be intact after each kill. */
export const runKills = ({ kills, ...options }: RunOptions & { storage: Storage; kills: number }) =>
  // Enough callers, with short pauses, that every process is killed with requests in progress.
  runFaults({
    ...options,
    faults: [KILL],
    rounds: kills,
    recoveryMs: options.deadlineMs,
    load: { callers: 8, pauseMs: 30 },
  });

/** Kills processes on one PostgreSQL server, restarts, crashes and pauses that server, and cuts its connections. */
export const runCluster = (options: RunOptions & Duration & Pick<Plan, "recoveryMs">) =>
  runFaults({
    ...options,
    storage: "postgres",
    processes: 4,
    faults: CLUSTER_FAULTS,
    load: { callers: 32, pauseMs: 1_000 },
  });

/** The message of a process that ends because it was started while the database was unavailable. */
const NO_DATABASE = /Cannot open the PostgreSQL database|The database stopped working during the start/;
/** The delay before a process that could not start is started again. */
const START_AGAIN_MS = 500;

/** Applies faults to a service under load, in rounds of all faults in random order. Returns the violations found. */
async function runFaults(plan: Plan): Promise<string[]> {
  const { violations, violate } = violationsOf(plan.print);
  const postgres = plan.storage === "postgres" ? await startOwnPostgres("durable") : undefined;
  const database = postgres ? postgresDatabase(postgres) : await DATABASES.sqlite();
  let isOver = false;
  const onEnd = (server: ServerUnderTest, why: string) => {
    if (!NO_DATABASE.test(why)) violate(why);
    setTimeout(() => isOver || server.launch(), START_AGAIN_MS);
  };
  const world = await createWorld({ ...plan, database, violate, onEnd });
  try {
    await launchAll(world.servers);
    const stopLoad = startLoad(world.payments, seededRandom(plan.seed + 2), plan.load);
    await applyAll(world, plan, postgres);
    await stopLoad();
    for (const server of world.servers) await server.ready();
    plan.print(await audit(world));
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

async function applyAll(world: World, plan: Plan, postgres: OwnPostgres | undefined) {
  const { seed, faults, rounds = Infinity, milliseconds = Infinity } = plan;
  const random = seededRandom(seed);
  const end = performance.now() + milliseconds;
  for (let round = 0; round < rounds; round += 1) {
    for (const fault of shuffled(faults, random)) {
      if (performance.now() >= end) return;
      await sleep(random.below(1_000));
      await apply(world, fault, random, plan, postgres);
    }
  }
}

async function apply(world: World, fault: Fault, random: SeededRandom, { recoveryMs, print }: Plan, on?: OwnPostgres) {
  const { payments, caller, violate } = world;
  const before = payments.acknowledged();
  caller.slowest();
  const detail = await fault.run(world, random, on);
  const during = payments.acknowledged() - before;
  if (fault.harmless && during === 0) violate(`no payment was acknowledged during ${fault.name}`);
  const ended = performance.now();
  await payments.payout();
  const recovery = performance.now() - ended;
  if (recovery > recoveryMs) violate(`recovery from ${fault.name} took ${recovery.toFixed(0)} ms`);
  const numbers = `recovered in ${recovery.toFixed(0)} ms; ${during} acknowledged meanwhile`;
  print(`${fault.name.padEnd(34)} ${detail}; ${numbers}; slowest request ${caller.slowest().toFixed(0)} ms`);
}

const shuffled = <T>(values: readonly T[], random: SeededRandom): T[] =>
  values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
