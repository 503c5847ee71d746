import type { Clock } from "../domain/clock.ts";

/** Real time as a test decides it. */
export interface FakeClock extends Clock {
  /** Moves forward by so many milliseconds; whoever slept until then wakes up. */
  advance(milliseconds: number): void;
}

interface Sleeper {
  until: number;
  wake(): void;
}

/** A clock that stands still until it is moved. A sleep also ends when its signal is aborted. */
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
    advance(milliseconds) {
      now += milliseconds;
      for (const sleeper of sleepers) if (sleeper.until <= now) sleeper.wake();
    },
  };
}
