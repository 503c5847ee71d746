// The experiments that apply faults to a service under load: faults of all kinds, kills, and a cluster on one PostgreSQL
// server.
import { setTimeout as sleep } from "node:timers/promises";
import type { OwnPostgres } from "../../server/testing/own-postgres.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import type { Storage } from "./database.ts";
import { startLoad, type Load } from "./payments.ts";
import { RANDOM_FAULTS } from "./random.ts";
import { inWorld, type Fault, type RunOptions, type World } from "./world.ts";

/** A kill, after which the database is checked while no process has it open. */
const KILL: Fault = {
  name: "kill -9",
  async run({ server, database }) {
    await server.kill();
    await database.check();
    server.launch();
    return "the database is intact";
  },
};

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'disbursement-checkout' AND random() < 0.5`;

/** A fault of the database server. The receiver is slow meanwhile, so that webhooks are in progress. */
const databaseFault = (name: string, disturb: (postgres: OwnPostgres) => Promise<unknown>): Fault => ({
  name,
  async run({ receiver, database }) {
    receiver.behave("slow");
    const begun = performance.now();
    await disturb(database.postgres!);
    return `for ${(performance.now() - begun).toFixed(0)} ms`;
  },
});

const CLUSTER_FAULTS: readonly Fault[] = [
  {
    name: "kill -9 of one process",
    harmless: true,
    async run({ servers, receiver }, random) {
      receiver.behave("slow");
      const server = random.pick(servers);
      await sleep(random.below(1_000));
      await server.crash();
      return `process ${servers.indexOf(server) + 1}`;
    },
  },
  databaseFault("connections cut", (postgres) => postgres.run(CUT)),
  databaseFault("restart of the database", (postgres) => postgres.restart("SIGINT")),
  databaseFault("crash of the database", (postgres) => postgres.restart("SIGQUIT")),
  databaseFault("pause of the database", async (postgres) => {
    await postgres.freeze();
    await sleep(10_000);
    postgres.thaw();
  }),
];

interface Duration {
  /** How many rounds of all faults to apply, or for how many minutes to apply faults. */
  rounds?: number;
  minutes?: number;
  /** How many seconds the service may take to record a payout after a fault has ended, start included. */
  recovery: number;
}

interface Plan extends RunOptions, Duration {
  storage: Storage;
  processes?: number;
  faults: readonly Fault[];
  load?: Load;
}

/** Applies faults of all kinds, in random order. */
export const runRandom = (options: RunOptions & Duration) =>
  runFaults({ ...options, storage: "sqlite", faults: RANDOM_FAULTS });

/** Kills a server again and again. Its database must be intact after each kill. */
export const runKills = ({ kills, ...options }: RunOptions & { storage: Storage; kills: number }) =>
  // Enough callers, with short pauses, that every process is killed with requests in progress.
  runFaults({
    ...options,
    faults: [KILL],
    rounds: kills,
    recovery: options.deadlineMs / 1_000,
    load: { callers: 8, pauseMs: 30 },
  });

/** Kills processes on one PostgreSQL server, restarts, crashes and pauses that server, and cuts its connections. */
export const runCluster = (options: RunOptions & Duration) =>
  runFaults({
    ...options,
    storage: "postgres",
    processes: 4,
    faults: CLUSTER_FAULTS,
    load: { callers: 32, pauseMs: 1_000 },
  });

/** Applies faults to a service under load, in rounds of all faults in random order. Returns the violations found. */
const runFaults = (plan: Plan): Promise<string[]> =>
  inWorld({ ...plan, database: plan.storage }, async (world) => {
    const stopLoad = startLoad(world.payments, seededRandom(plan.seed + 2), plan.load);
    await applyAll(world, plan);
    await stopLoad();
    for (const server of world.servers) await server.ready();
    plan.print(await audit(world));
  });

async function applyAll(world: World, plan: Plan) {
  const { seed, faults, rounds = Infinity, minutes = Infinity } = plan;
  const random = seededRandom(seed);
  const end = performance.now() + minutes * 60_000;
  for (let round = 0; round < rounds; round += 1) {
    for (const fault of shuffled(faults, random)) {
      if (performance.now() >= end) return;
      await sleep(random.below(1_000));
      await apply(world, fault, random, plan);
    }
  }
}

async function apply(world: World, fault: Fault, random: SeededRandom, { recovery, print }: Plan) {
  const { payments, violate } = world;
  const before = payments.acknowledged();
  const detail = await fault.run(world, random);
  const during = payments.acknowledged() - before;
  if (fault.harmless && during === 0) violate(`no payment was acknowledged during ${fault.name}`);
  const ended = performance.now();
  await payments.payout();
  const tookMs = performance.now() - ended;
  if (tookMs > recovery * 1_000) violate(`recovery from ${fault.name} took ${tookMs.toFixed(0)} ms`);
  print(`${fault.name.padEnd(34)} ${detail}; recovered in ${tookMs.toFixed(0)} ms; ${during} acknowledged meanwhile`);
}

const shuffled = <T>(values: readonly T[], random: SeededRandom): T[] =>
  values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
