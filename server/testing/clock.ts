import type { Clock } from "../domain/clock.ts";

/** Real time under the control of a test. */
export interface FakeClock extends Clock {
  /** Moves time forward and wakes every sleeper that is due. */
  advance(milliseconds: number): void;
}

interface Sleeper {
  until: number;
  wake(): void;
}

/** A clock that is stopped until it is advanced. */
export function createFakeClock(start = Date.UTC(2026, 10, 20, 9, 30)): FakeClock {
  let now = start;
  const sleepers = new Set<Sleeper>();
  return {
    now: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper: Sleeper = {
          until: now + milliseconds,
          wake() {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    notBefore(milliseconds) {
      now = Math.max(now, milliseconds);
    },
    advance(milliseconds) {
      now += milliseconds;
      for (const sleeper of sleepers) if (sleeper.until <= now) sleeper.wake();
    },
  };
}
