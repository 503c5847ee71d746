import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../server/testing/random.ts";
import { audit } from "./audit.ts";
import { DATABASES, type Storage } from "./database.ts";
import { startLoad } from "./load.ts";
import { createWorld, violationsOf, type WorldOptions } from "./world.ts";

/** The longest that a process works before it is killed, in milliseconds. */
const LIFE_MS = 1_000;
/** Enough callers, with short pauses, that every process is killed with requests in progress. */
const LOAD = { callers: 8, pauseMs: 30 };

export interface KillOptions extends WorldOptions {
  storage: Storage;
  kills: number;
}

/**
 * Kills a server under load at random moments, again and again. After each kill it must start, with a database that is
 * intact. Returns the violations found.
 */
export async function runKills(options: KillOptions): Promise<string[]> {
  const { storage, kills, seed, print } = options;
  const { violations, violate } = violationsOf(print);
  const random = seededRandom(seed);
  const database = await DATABASES[storage]();
  const world = await createWorld({ ...options, database, violate });
  const { server, payments } = world;
  try {
    server.launch();
    await payments.payout();
    const stopLoad = startLoad(payments, seededRandom(seed + 2), LOAD);
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(random.below(LIFE_MS));
      await server.kill();
      await database.check();
      server.launch();
      await payments.payout();
      if (kill % 10 === 0) print(`${kill} kills; ${payments.acknowledged()} payments acknowledged`);
    }
    await stopLoad();
    print(await audit(world));
    await server.stop();
    await database.check();
  } finally {
    await world.close();
    await database.close();
  }
  return violations;
}
