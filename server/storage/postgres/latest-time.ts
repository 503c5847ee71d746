import type { Clock } from "../../domain/clock.ts";
import { DATES_HELD_MS } from "../../domain/dates.ts";
import { createRepairs, futureTimes, sharedFutureTimes } from "../future-times.ts";
import type { Database } from "./database.ts";
import { DATABASE_CLOCK } from "./time.ts";

/** How often a process compares its clock with the database's, in milliseconds. */
const EVERY_MS = 900;
/** By how much the counter of leases moves at most at once. A lease may be shorter by this time. */
const LONGEST_STEP_MS = 1_000;

/** After a longer delay, a response says nothing about the database's time. */
const LONGEST_DELAY_MS = 1_000;

export interface LatestTime {
  /** Records the time, which also shows that the database can commit. */
  record(): Promise<void>;
  /** Records the time once more, and stops. */
  stop(): Promise<void>;
}

const READ = `SELECT latest_real, leased, ${DATABASE_CLOCK} AS database FROM service WHERE id = 1`;
const RECORD = `UPDATE service SET leased = CASE leased WHEN 0 THEN ${DATABASE_CLOCK} WHEN $1 THEN leased + $2::bigint ELSE leased END,
    latest_real = CASE WHEN latest_real > :now + ${DATES_HELD_MS} THEN :now ELSE greatest(latest_real, :now) END
  WHERE id = 1 RETURNING latest_real, leased, ${DATABASE_CLOCK} AS database`;
const FUTURE_TIMES = [
  ...futureTimes("(SELECT :now)", "a.merchant_id = events.merchant_id AND a.event_id = events.id"),
  ...sharedFutureTimes("(SELECT :now)"),
];

/**
 * Compares this process's clock with the database's and with the times that other processes record. Also moves the
 * counter of leases, which all processes share, by the time that their monotonic counters measure. A process adds the
 * time for which it has seen the same value of the counter, unless another process was faster. Therefore the counter is
 * never ahead of real time. The first process starts the counter with the current time, because processes of an earlier
 * version may still be running, and measure leases with the time.
 * @param server true for a server, which corrects times that were written while a clock was ahead
 */
export async function keepLatestTime(db: Database, clock: Clock, { server }: { server: boolean }): Promise<LatestTime> {
  const repairs = server
    ? createRepairs(clock, async () => {
        for (const sql of FUTURE_TIMES) await db.transaction((query) => query(sql), { repeatable: true });
      })
    : undefined;
  let seen: { leased: number; at: number } | undefined;
  function see({ latest_real: latest, leased, database }: Record<string, unknown>, begunAt: number) {
    // The database read its clock between these two readings.
    const delay = clock.monotonic() - begunAt;
    if (seen === undefined || delay <= LONGEST_DELAY_MS)
      clock.compare((database as number) + delay / 2, latest as number, delay / 2 + 1);
    clock.datedUntil(latest as number);
    repairs?.note(latest as number);
    if (seen?.leased !== leased) seen = { leased: leased as number, at: clock.monotonic() };
  }

  async function record() {
    const begunAt = clock.monotonic();
    const elapsed = seen ? Math.floor(Math.min(LONGEST_STEP_MS, begunAt - seen.at)) : 0;
    const expected = seen?.leased ?? -1;
    const { rows } = await db.transaction((query) => query(RECORD, [expected, elapsed]), { repeatable: true });
    see(rows[0]!, begunAt);
    await repairs?.run();
  }

  const begunAt = clock.monotonic();
  see((await db.read(READ)).rows[0]!, begunAt);
  await record();
  const timer = setInterval(() => record().catch(() => undefined), EVERY_MS).unref();
  return {
    record,
    async stop() {
      clearInterval(timer);
      await record().catch(() => undefined);
    },
  };
}
