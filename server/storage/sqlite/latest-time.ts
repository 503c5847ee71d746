import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../domain/clock.ts";

/**
 * Keeps the clock from starting before times already stored, in case the wall clock was set back while no server was
 * running. `record` runs in every transaction and stores the time at most once per second.
 */
export function latestTime(db: DatabaseSync, clock: Clock): { record(): void; recordNow(): void } {
  const EVERY_MS = 1_000;
  const update = db.prepare("UPDATE clock SET latest_real = ? WHERE id = 1");
  let stored = db.prepare("SELECT latest_real FROM clock WHERE id = 1").get()!.latest_real as number;
  clock.notBefore(stored);
  const recordNow = () => {
    stored = clock.now();
    update.run(stored);
  };
  return {
    recordNow,
    record() {
      if (clock.now() - stored >= EVERY_MS) recordNow();
    },
  };
}
