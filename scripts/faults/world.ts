import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { createCaller, type Caller } from "./caller.ts";
import type { Database } from "./database.ts";
import { createPayments, type Payments } from "./payments.ts";
import { startReceiver, type Receiver } from "./receiver.ts";
import { prepareServer, type ServerUnderTest } from "./server.ts";

const KEY = "a-key-for-faults-under-load";

/** Everything that a fault may use. */
export interface World {
  key: string;
  database: Database;
  /** All processes of the service. */
  servers: readonly ServerUnderTest[];
  /** The first process of the service. Most runs have only this process. */
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

export interface Fault {
  name: string;
  /** True if creates must succeed while the fault lasts. */
  harmless?: boolean;
  /**
   * Applies the fault and ends it. A process that it starts again need not listen yet.
   * @returns the fault's numbers, for people
   */
  run(world: World, random: SeededRandom): Promise<string>;
}

export interface WorldOptions {
  /** Selects everything that is random. */
  seed: number;
  /** How long any response may take, in milliseconds. */
  deadlineMs: number;
  print(line: string): void;
}

interface Parts extends WorldOptions {
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
export async function createWorld({ database, processes = 1, env, ...options }: Parts): Promise<World> {
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

/** This machine lacks something that a run needs. The message says what. */
export class Missing extends Error {
  override name = "Missing";
}

/** Collects what a run finds wrong, and prints it immediately. */
export function violationsOf(print: (line: string) => void) {
  const violations: string[] = [];
  const violate = (what: string) => {
    violations.push(what);
    print(`VIOLATION ${what}`);
  };
  return { violations, violate };
}
