import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../domain/clock.ts";
import { DATES_HELD_MS } from "../../domain/dates.ts";
import { createRepairs, futureTimes } from "../future-times.ts";

const EVERY_MS = 1_000;

export interface LatestTime {
  /** Stores the time at most once per second. Runs in every transaction. */
  record(): void;
  recordNow(): void;
  /** The counter that leases are measured with: how long servers have used this database. No wall clock affects it. */
  leased(): number;
  /** Corrects times that were written while a clock was ahead, if there are any. */
  repair(): Promise<void>;
  close(): void;
}

/**
 * Keeps dates from going back to before dates that are stored already, and keeps the counter of leases.
 * @param write runs a function in a transaction; undefined for a command, which corrects nothing
 */
export function latestTime(
  db: DatabaseSync,
  clock: Clock,
  write: ((work: () => void) => Promise<unknown>) | undefined,
): LatestTime {
  const update = db.prepare("UPDATE clock SET latest_real = ?, leased = max(leased, ?) WHERE id = 1");
  const { latest_real: latest, leased } = db.prepare("SELECT latest_real, leased FROM clock WHERE id = 1").get()!;
  let stored = latest as number;
  const openedAt = clock.monotonic();
  let recordedAt = -Infinity;
  clock.datedUntil(stored);

  const counted = () => (leased as number) + Math.floor(clock.monotonic() - openedAt);
  function recordNow() {
    const now = clock.now();
    stored = stored - now > DATES_HELD_MS ? now : Math.max(stored, now);
    recordedAt = clock.monotonic();
    update.run(stored, counted());
  }

  const correct = () => {
    for (const sql of futureTimes(String(clock.now()), "a.event_id = events.id")) db.exec(sql);
  };
  const repairs = write && createRepairs(clock, () => write(correct));
  repairs?.note(stored);
  const repair = async () => repairs?.run();
  const timer = repairs && setInterval(repair, EVERY_MS).unref();
  return {
    recordNow,
    record() {
      if (clock.monotonic() - recordedAt >= EVERY_MS) recordNow();
    },
    leased: counted,
    repair,
    close: () => clearInterval(timer),
  };
}
