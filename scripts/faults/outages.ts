import { setTimeout as sleep } from "node:timers/promises";
import type { OwnPostgres } from "../../server/testing/own-postgres.ts";
import type { SeededRandom } from "../../server/testing/random.ts";

/** Ways to make PostgreSQL unavailable for a while. */
export const OUTAGES = {
  restart: (postgres) => postgres.restart("SIGINT"),
  crash: (postgres) => postgres.restart("SIGQUIT"),
  async pause(postgres) {
    await postgres.freeze();
    await sleep(10_000);
    postgres.thaw();
  },
} satisfies Record<string, (postgres: OwnPostgres) => Promise<void>>;

/** A time when the database was unavailable, as `performance.now()` counts. */
export interface Outage {
  kind: keyof typeof OUTAGES;
  from: number;
  to: number;
}

/** The longest time between two cuts of connections, in milliseconds. */
const CUT_EVERY_MS = 10_000;
const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'disbursement-checkout' AND random() < 0.5`;

export interface Disturbances {
  milliseconds: number;
  /** The outages, which are spread evenly over the time. */
  outages: readonly Outage["kind"][];
  print(line: string): void;
}

/** Cuts connections at random moments, and between cuts takes the database away. Adds each outage that ends to `done`. */
export async function disturbDatabase(
  postgres: OwnPostgres,
  random: SeededRandom,
  { milliseconds, outages, print }: Disturbances,
  done: Outage[],
): Promise<void> {
  const begun = performance.now();
  const lasted = () => performance.now() - begun;
  const pauseUntil = (at: number) => sleep(Math.max(0, Math.min(at, milliseconds) - lasted()));
  while (lasted() < milliseconds) {
    const kind = outages[done.length];
    const next = ((done.length + 1) * milliseconds) / (outages.length + 1);
    const cut = lasted() + random.below(CUT_EVERY_MS);
    await pauseUntil(kind ? Math.min(cut, next) : cut);
    if (kind && lasted() >= next) {
      const from = performance.now();
      await OUTAGES[kind](postgres);
      done.push({ kind, from, to: performance.now() });
      print(`${kind} of the database for ${(performance.now() - from).toFixed(0)} ms`);
    } else {
      await postgres.run(CUT);
    }
  }
}
