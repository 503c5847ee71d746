import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { createCaller } from "./caller.ts";
import { CLIENT_FAULTS } from "./clients.ts";
import { createPayments, type Payments } from "./payments.ts";
import { PROCESS_FAULTS } from "./processes.ts";
import { startReceiver } from "./receiver.ts";
import { prepareServer } from "./server.ts";
import { STORAGE_FAULTS } from "./storage.ts";
import type { Fault, World } from "./world.ts";

const KEY = "a-key-for-faults-under-load";
const WORKERS = 8;
/** The longest pause of a worker between two payments, in milliseconds. */
const PAUSE_MS = 100;

export const FAULTS: readonly Fault[] = [...PROCESS_FAULTS, ...STORAGE_FAULTS, ...CLIENT_FAULTS];

export interface RunOptions {
  /** Selects the order of the faults and their numbers. */
  seed: number;
  faults: readonly Fault[];
  /** How often to apply all faults, or for how long to apply faults, in milliseconds. */
  rounds?: number;
  milliseconds?: number;
  /** How long the server may take to record a payout after a fault has ended, start included. */
  recoveryMs: number;
  /** How long any response may take, in milliseconds: more than the 5 s that a write waits for a lock. */
  deadlineMs: number;
  print(line: string): void;
}

/** Applies faults to a server under load, in rounds of all faults in random order. Returns the violations found. */
export async function runFaults(options: RunOptions): Promise<string[]> {
  const { seed, print } = options;
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  const violations: string[] = [];
  const violate = (what: string) => {
    violations.push(what);
    print(`VIOLATION ${what}`);
  };
  const world = await createWorld(folder, options, violate);
  try {
    world.server.launch();
    await world.payments.payout();
    const stopLoad = startLoad(world.payments, seededRandom(seed + 2));
    await applyFaults(world, options);
    await stopLoad();
    for (const receiver of world.receivers) receiver.behave("healthy");
    const { payments, webhooks } = await audit(world);
    await world.server.stop();
    const repeated = world.payments.ambiguous();
    print(`${payments} payments (${repeated} repeated after an unknown result) and ${webhooks} webhooks checked`);
  } finally {
    await world.server.kill();
    for (const receiver of world.receivers) receiver.close();
    rmSync(folder, { recursive: true });
  }
  return violations;
}

async function createWorld(
  folder: string,
  { seed, deadlineMs }: RunOptions,
  violate: (what: string) => void,
): Promise<World> {
  const random = seededRandom(seed + 1);
  const server = await prepareServer(join(folder, "server.db"), KEY, violate);
  const caller = createCaller({ port: server.port, key: KEY, deadlineMs, violate });
  const [moody, receiver] = [await startReceiver(random, violate), await startReceiver(random, violate)];
  moody.behave("moody");
  const receivers = [moody, receiver];
  const payments = createPayments({ caller, random, receivers: receivers.map(({ url }) => url), violate });
  return { key: KEY, server, caller, payments, receiver, receivers, violate };
}

/** Starts the load. The returned function ends it, and resolves when the result of every request is known. */
function startLoad(payments: Payments, random: SeededRandom): () => Promise<void> {
  let stopping = false;
  async function work() {
    while (!stopping) {
      const kind = random.below(10);
      if (kind < 6) await payments.payout();
      else if (kind < 8) await payments.checkout();
      else await payments.verify();
      await sleep(random.below(PAUSE_MS));
    }
  }
  const workers = Array.from({ length: WORKERS }, work);
  return async () => {
    stopping = true;
    await Promise.all(workers);
  };
}

async function applyFaults(world: World, options: RunOptions) {
  const { seed, faults, rounds = Infinity, milliseconds = Infinity } = options;
  const random = seededRandom(seed);
  const end = performance.now() + milliseconds;
  for (let round = 0; round < rounds; round += 1) {
    for (const fault of shuffled(faults, random)) {
      if (performance.now() >= end) return;
      await applyFault(world, fault, random, options);
      await sleep(random.below(1_000));
    }
  }
}

async function applyFault(world: World, fault: Fault, random: SeededRandom, { recoveryMs, print }: RunOptions) {
  const { payments, caller, violate } = world;
  const before = payments.acknowledged();
  caller.slowest();
  const detail = await fault.run(world, random);
  const during = payments.acknowledged() - before;
  if (fault.harmless && during === 0) violate(`no payment was acknowledged during ${fault.name}`);
  const ended = performance.now();
  await payments.payout();
  const recovery = performance.now() - ended;
  if (recovery > recoveryMs) violate(`recovery from ${fault.name} took ${recovery.toFixed(0)} ms`);
  const numbers = `recovered in ${recovery.toFixed(0)} ms; ${during} acknowledged meanwhile`;
  print(`${fault.name.padEnd(34)} ${detail}; ${numbers}; slowest request ${caller.slowest().toFixed(0)} ms`);
}

function shuffled<T>(values: readonly T[], random: SeededRandom): T[] {
  return values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}
