import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { createCaller, type Caller } from "./caller.ts";
import { DATABASES, type Database, type Storage } from "./database.ts";
import { createPayments, type Payments } from "./payments.ts";
import { startProxy, type Proxy, type ProxyOptions } from "./proxy.ts";
import { startReceiver, type Receiver } from "./receiver.ts";
import { prepareServer, type ServerUnderTest } from "./server.ts";

const KEY = "a-key-for-the-lab";

/** What every experiment needs. */
export interface RunOptions {
  /** The seed of everything that is random. */
  seed: number;
  /** How long any response may take, in milliseconds. */
  deadlineMs: number;
  print(line: string): void;
}

export type Violate = (what: string) => void;

/** Runs an experiment, and prints immediately what it finds wrong. Returns the violations found. */
export async function judged({ print }: Pick<RunOptions, "print">, run: (violate: Violate) => Promise<void>) {
  const violations: string[] = [];
  await run((what) => {
    violations.push(what);
    print(`VIOLATION ${what}`);
  });
  return violations;
}

/** This machine lacks something that an experiment needs. The message says what. */
export class Missing extends Error {
  override name = "Missing";
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
  /** A receiver that works, unless a fault makes it slow. */
  receiver: Receiver;
  /** All receivers. */
  receivers: readonly Receiver[];
  /** The network to the service. */
  network: Proxy;
  /** A folder that is deleted at the end. */
  folder: string;
  /** Writes a file into the folder, that only its owner may read. Returns its path. */
  fileWith(name: string, text: string): string;
  violate: Violate;
}

/** Something that happens to a service under load. */
export interface Fault {
  name: string;
  /** True if creates must succeed while the fault lasts. */
  harmless?: boolean;
  /** Applies the fault and ends it. A process that it starts again need not listen yet. Returns a summary for people. */
  run(world: World, random: SeededRandom): Promise<string>;
}

interface WorldOptions extends RunOptions, Pick<Parameters<typeof prepareServer>[0], "exitCodes"> {
  /** An empty database, or the storage of a new one. It is deleted at the end. */
  database: Database | Storage;
  /** The number of processes. */
  processes?: number;
  /** Further variables of each process. A live service has no controls of a sandbox. */
  env?: Readonly<Record<string, string>>;
  /** The faults of the network; by default none. */
  network?: Pick<ProxyOptions, "share" | "delayMs">;
  violate: Violate;
}

/** Runs an experiment on one service. Returns the violations found. */
export const inWorld = (options: Omit<WorldOptions, "violate">, use: (world: World) => Promise<void>) =>
  judged(options, (violate) => withWorld({ ...options, violate }, use));

/** Starts a service. Afterwards stops the service, and checks its database. */
export async function withWorld(options: WorldOptions, use: (world: World) => Promise<void>): Promise<void> {
  const { processes = 1, env, seed, deadlineMs, violate } = options;
  const database = typeof options.database === "string" ? await DATABASES[options.database]() : options.database;
  const random = seededRandom(seed + 1);
  const ofServer = { ...options, env: { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, ...env } };
  const servers = await Promise.all(Array.from({ length: processes }, () => prepareServer(ofServer)));
  const ports = servers.map(({ port }) => port);
  const caller = createCaller({ ports, key: KEY, sandbox: env?.SANDBOX !== "false", deadlineMs, violate });
  const [moody, receiver] = [await startReceiver(random, violate), await startReceiver(random, violate)];
  moody.behave("moody");
  const receivers = [moody, receiver];
  const network = await startProxy({ share: 0, delayMs: 0, ...options.network, seed, ports });
  const folder = mkdtempSync(join(tmpdir(), "lab-"));
  function fileWith(name: string, text: string): string {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  }
  const payments = createPayments({ caller, random, receivers: receivers.map(({ url }) => url), violate });
  try {
    await launchAll(servers);
    const parties = { servers, server: servers[0]!, caller, payments, receiver, receivers, network };
    await use({ ...parties, key: KEY, database, folder, fileWith, violate });
    await Promise.all(servers.map((server) => server.stop()));
    await database.check();
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    await Promise.all([...receivers, network].map(({ close }) => close()));
    await database.close();
    rmSync(folder, { recursive: true });
  }
}

/** Starts all processes, and resolves when they serve requests. */
export async function launchAll(servers: readonly ServerUnderTest[]): Promise<void> {
  for (const server of servers) server.launch();
  for (const server of servers) await server.ready();
}

/** Runs `work` for every job, `width` at a time. */
export async function inParallel<T>(jobs: Iterable<T>, width: number, work: (job: T) => Promise<void>): Promise<void> {
  const queue = jobs[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
