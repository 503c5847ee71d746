import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "../../server/testing/random.ts";
import type { Payments } from "./payments.ts";

export interface Load {
  callers: number;
  /** The longest pause of a caller between two payments, in milliseconds. */
  pauseMs: number;
}

const USUAL: Load = { callers: 8, pauseMs: 100 };

/** Starts the load. The returned function ends it, and resolves when the result of every request is known. */
export function startLoad(payments: Payments, random: SeededRandom, load = USUAL): () => Promise<void> {
  let stopping = false;
  async function work() {
    while (!stopping) {
      const kind = random.below(10);
      if (kind < 6) await payments.payout();
      else if (kind < 8) await payments.checkout();
      else await payments.verify();
      await sleep(random.below(load.pauseMs));
    }
  }
  const workers = Array.from({ length: load.callers }, work);
  return async () => {
    stopping = true;
    await Promise.all(workers);
  };
}
