import type { Database } from "./database.ts";
import type { Time } from "./time.ts";

/** How often a process records the database's time, in milliseconds. */
const EVERY_MS = 1_000;

export interface LatestTime {
  /** Records the time, which also shows that the database can commit. */
  record(): Promise<void>;
  /** Records the time for the last time. */
  stop(): Promise<void>;
}

/**
 * Keeps time from going back to before times already recorded, in case the database's clock was set back, and this
 * process's clock close to the database's.
 */
export async function keepLatestTime(db: Database, time: Time): Promise<LatestTime> {
  const sql = "UPDATE service SET latest_real = greatest(latest_real, :now) WHERE id = 1 RETURNING latest_real";
  async function record() {
    const { rows } = await db.transaction((query) => query(sql), { repeatable: true });
    time.seen(rows[0]!.latest_real as number);
  }
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
