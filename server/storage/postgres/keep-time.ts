import type { Clock } from "../../domain/clock.ts";
import { correction } from "../future-times.ts";
import { run, type Executor } from "../portable/query.ts";
import { DATABASE_CLOCK } from "./statements.ts";

/** How often a process reads the database's clock, in milliseconds. */
const EVERY_MS = 900;
/** By how much the counter of leases moves at most at once. A lease may be shorter by this time. */
const LONGEST_STEP_MS = 1_000;
/** After a longer delay, a response says nothing about the database's time. */
const LONGEST_DELAY_MS = 1_000;

const RECORD = `UPDATE service SET
    leased = CASE leased WHEN :expected THEN leased + :elapsed::bigint ELSE leased END
  WHERE id = 1 RETURNING leased, ${DATABASE_CLOCK} AS database`;

/**
 * Makes this process's clock follow the database's. Also moves the counter of leases, which all processes share, by the
 * time that their monotonic counters measure. A process adds the time for which it has seen the same value of the counter,
 * unless another process was faster. Therefore the counter never moves faster than real time.
 * @param options server: true for a server, which corrects times that were written while a clock was ahead; time: whose
 *   clock the statements use
 */
export async function keepTime(
  executor: Executor,
  clock: Clock,
  { server, time }: { server: boolean; time: "database" | "process" },
) {
  const correct = correction(executor, clock);
  let seen: { leased: number; at: number } | undefined;

  /** Moves the counter, which also shows that the database can commit. */
  async function record(): Promise<void> {
    const begunAt = clock.monotonic();
    const elapsed = seen ? Math.floor(Math.min(LONGEST_STEP_MS, begunAt - seen.at)) : 0;
    const expected = seen?.leased ?? -1;
    const { rows } = await executor.write(() => run(RECORD, { expected, elapsed }), { idempotent: true });
    const { leased, database } = rows[0] as { leased: number; database: number };
    // The database read its clock between these two readings.
    const delay = clock.monotonic() - begunAt;
    if (seen === undefined || delay <= LONGEST_DELAY_MS) clock.follow(database + delay / 2);
    if (seen?.leased !== leased) seen = { leased, at: clock.monotonic() };
    if (server) await correct();
  }

  await record();
  // A test that controls the time moves it itself.
  const timer = time === "database" && setInterval(() => record().catch(() => undefined), EVERY_MS).unref();
  return {
    record,
    /** Moves the counter once more, and stops. */
    async stop() {
      if (timer) clearInterval(timer);
      await record().catch(() => undefined);
    },
  };
}
