import { startProcess } from "../../server/testing/process.ts";
import type { OwnPostgres } from "../../server/testing/own-postgres.ts";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { createCaller, type Caller } from "./caller.ts";
import { DATABASES, type Database } from "./database.ts";
import { createPayments, type Payments } from "./payments.ts";
import { startReceiver, type Receiver } from "./receiver.ts";
import { prepareServer, type ServerUnderTest } from "./server.ts";

const KEY = "a-key-for-the-lab";

/** What every experiment needs. */
export interface RunOptions {
  /** Selects everything that is random. */
  seed: number;
  /** How long any response may take, in milliseconds. */
  deadlineMs: number;
  print(line: string): void;
}

/** A service, its callers and the receivers of its webhooks. */
export interface World {
  key: string;
  database: Database;
  /** All processes of the service. */
  servers: readonly ServerUnderTest[];
  /** The first process of the service. Most experiments have only this process. */
  server: ServerUnderTest;
  caller: Caller;
  payments: Payments;
  /** A receiver that works, unless a fault makes it hostile for a while. */
  receiver: Receiver;
  /** All receivers. */
  receivers: readonly Receiver[];
  violate(what: string): void;
  close(): Promise<void>;
}

interface WorldOptions extends RunOptions {
  database: Database;
  /** The number of processes. */
  processes?: number;
  /** Further variables of each process. A live service has no controls of a sandbox. */
  env?: Readonly<Record<string, string>>;
  violate(what: string): void;
  /** Called instead of a violation when a process ends by itself. */
  onEnd?(server: ServerUnderTest, why: string): void;
}

/** Prepares the service and its clients. No process has been started. */
export async function createWorld({ database, processes = 1, env, ...options }: WorldOptions): Promise<World> {
  const { seed, deadlineMs, violate, onEnd = (_, why) => violate(why) } = options;
  const random = seededRandom(seed + 1);
  const servers: ServerUnderTest[] = [];
  for (let count = 0; count < processes; count += 1) {
    const server: ServerUnderTest = await prepareServer({
      databaseUrl: database.url,
      key: KEY,
      env,
      violate,
      onEnd: (why) => onEnd(server, why),
    });
    servers.push(server);
  }
  const ports = servers.map(({ port }) => port);
  const caller = createCaller({ ports, key: KEY, sandbox: env?.SANDBOX !== "false", deadlineMs, violate });
  const [moody, receiver] = [await startReceiver(random, violate), await startReceiver(random, violate)];
  moody.behave("moody");
  const receivers = [moody, receiver];
  const payments = createPayments({ caller, random, receivers: receivers.map(({ url }) => url), violate });
  return {
    key: KEY,
    database,
    servers,
    server: servers[0]!,
    caller,
    payments,
    receiver,
    receivers,
    violate,
    async close() {
      await Promise.all(servers.map((server) => server.kill()));
      await Promise.all(receivers.map(({ close }) => close()));
    },
  };
}

/** Starts all processes, and resolves when they serve requests. */
export async function launchAll(servers: readonly ServerUnderTest[]): Promise<void> {
  for (const server of servers) server.launch();
  for (const server of servers) await server.ready();
}

/** Starts a server on SQLite, for experiments on programs that pay. */
export async function startService(env: Readonly<Record<string, string>> = {}) {
  const database = await DATABASES.sqlite();
  const { url, port, kill, ended } = await startProcess({ DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, ...env });
  return {
    url,
    port,
    key: KEY,
    async close() {
      kill("SIGKILL");
      await ended;
      await database.close();
    },
  };
}

/** Runs `work` for every job, `width` at a time. */
export async function inParallel<T>(jobs: Iterable<T>, width: number, work: (job: T) => Promise<void>): Promise<void> {
  const queue = jobs[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Something that happens to a service under load. */
export interface Fault {
  name: string;
  /** True if creates must succeed while the fault lasts. */
  harmless?: boolean;
  /**
   * Applies the fault and ends it. A process that it starts again need not listen yet.
   * @param postgres the database server, for faults of a database server
   * @returns the fault's numbers, for people
   */
  run(world: World, random: SeededRandom, postgres?: OwnPostgres): Promise<string>;
}

/** This machine lacks something that an experiment needs. The message says what. */
export class Missing extends Error {
  override name = "Missing";
}

/** Collects what an experiment finds wrong, and prints it immediately. */
export function violationsOf(print: (line: string) => void) {
  const violations: string[] = [];
  const violate = (what: string) => {
    violations.push(what);
    print(`VIOLATION ${what}`);
  };
  return { violations, violate };
}
