import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../domain/clock.ts";

/**
 * Keeps the clock from starting earlier than times that are stored already, should the wall clock have been set back
 * while no server was running. `record` runs in every transaction and stores the time, at most once in a second.
 */
export function latestTime(db: DatabaseSync, clock: Clock): { record(): void } {
  const EVERY_MS = 1_000;
  const update = db.prepare("UPDATE clock SET latest_real = ? WHERE id = 1");
  let stored = db.prepare("SELECT latest_real FROM clock WHERE id = 1").get()!.latest_real as number;
  clock.notBefore(stored);
  return {
    record() {
      const now = clock.now();
      if (now - stored < EVERY_MS) return;
      update.run(now);
      stored = now;
    },
  };
}
