// Faults of the service's processes, of their files, and of their database server. A new fault is an entry here.
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { aPayout, fillLog } from "../../server/testing/http.ts";
import type { OwnPostgres } from "../../server/testing/own-postgres.ts";
import type { Fault, World } from "./world.ts";

/** Stops the server and starts it again. Returns how long stopping took, for people. */
export async function restart({ server }: World): Promise<string> {
  const tookMs = await server.stop();
  server.launch();
  return `stopped in ${tookMs.toFixed(0)} ms`;
}

/** A kill, after which the database is checked while no process has it open. */
export const KILL: Fault = {
  name: "kill -9",
  async run({ server, database }) {
    await server.kill();
    await database.check();
    server.launch();
    return "the database is intact";
  },
};

/**
 * Limits the size of the server's files: writes beyond the first page of any file fail. Only the soft limit changes, so
 * that it can be raised again without root.
 */
const limitFiles = ({ server }: World, bytes: string) =>
  promisify(execFile)("prlimit", ["--pid", String(server.pid()), `--fsize=${bytes}:`]);

/** Fills the disk, and checks that the storage then refuses a create. */
async function fillDisk(world: World) {
  const { caller, violate } = world;
  await limitFiles(world, "4096");
  const response = await caller.send("POST", "/v1/disbursements", { body: aPayout() });
  const isRefused = response?.status === 503 && response.text.includes("storage cannot be written");
  if (!isRefused) violate(`a create on a full disk got ${response?.status} ${response?.text}`);
  const ready = await caller.send("GET", "/readyz");
  if (ready?.status !== 503) violate(`/readyz returned ${ready?.status} on a full disk`);
}

export const SERVER_FAULTS: readonly Fault[] = [
  {
    name: "kill -9, up to three times",
    async run({ server }, random) {
      const times = 1 + random.below(3);
      for (let count = 0; count < times; count += 1) {
        if (count > 0) await sleep(random.below(1_500));
        await server.kill();
        server.launch();
      }
      return `${times} times`;
    },
  },
  { name: "SIGTERM", run: restart },
  {
    name: "stalled log reader",
    harmless: true,
    async run(world, random) {
      const output = world.server.output();
      output.pause();
      await fillLog(world.server.port);
      if (random.below(2) === 0) return restart(world);
      output.resume();
      return "resumed";
    },
  },
  {
    name: "vanished log reader",
    harmless: true,
    async run(world) {
      world.server.output().destroy();
      await fillLog(world.server.port);
      return restart(world);
    },
  },
  {
    name: "full disk",
    async run(world, random) {
      const lastedMs = 500 + random.below(4_000);
      await fillDisk(world);
      await sleep(lastedMs);
      await limitFiles(world, "unlimited");
      return `for ${lastedMs} ms`;
    },
  },
  {
    name: "SIGTERM or kill -9 on a full disk",
    async run(world, random) {
      await fillDisk(world);
      if (random.below(2) === 0) return restart(world);
      await world.server.kill();
      world.server.launch();
      return "killed";
    },
  },
];

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'disbursement-checkout' AND random() < 0.5`;

/** A fault of the database server. Webhooks are slow meanwhile, so that some are in progress. */
const databaseFault = (name: string, disturb: (postgres: OwnPostgres) => Promise<unknown>): Fault => ({
  name,
  async run({ receiver, database }) {
    receiver.behave("slow");
    const begun = performance.now();
    await disturb(database.postgres!);
    return `for ${(performance.now() - begun).toFixed(0)} ms`;
  },
});

export const CLUSTER_FAULTS: readonly Fault[] = [
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
