import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom, type SeededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { CLIENT_FAULTS } from "./clients.ts";
import { DATABASES } from "./database.ts";
import { startLoad } from "./load.ts";
import { PROCESS_FAULTS } from "./processes.ts";
import { STORAGE_FAULTS } from "./storage.ts";
import { createWorld, violationsOf, type Fault, type World, type WorldOptions } from "./world.ts";

export const FAULTS: readonly Fault[] = [...PROCESS_FAULTS, ...STORAGE_FAULTS, ...CLIENT_FAULTS];

export interface RunOptions extends WorldOptions {
  faults: readonly Fault[];
  /** How often to apply all faults, or for how long to apply faults, in milliseconds. */
  rounds?: number;
  milliseconds?: number;
  /** How long the server may take to record a payout after a fault has ended, start included. */
  recoveryMs: number;
}

/** Applies faults to a server under load, in rounds of all faults in random order. Returns the violations found. */
export async function runFaults(options: RunOptions): Promise<string[]> {
  const { seed, print } = options;
  const { violations, violate } = violationsOf(print);
  const database = await DATABASES.sqlite();
  const world = await createWorld({ ...options, database, violate });
  try {
    world.server.launch();
    await world.payments.payout();
    const stopLoad = startLoad(world.payments, seededRandom(seed + 2));
    await applyFaults(world, options);
    await stopLoad();
    print(await audit(world));
    await world.server.stop();
    await database.check();
  } finally {
    await world.close();
    await database.close();
  }
  return violations;
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
