import type { Clock } from "../domain/clock.ts";

/** Real time under the control of a test. */
export interface FakeClock extends Clock {
  /** Moves time forward and wakes every sleeper that is due. */
  advance(milliseconds: number): void;
  /** Sets the wall clock, but not the clock that measures durations. */
  set(time: number): void;
}

interface Sleeper {
  until: number;
  wake(): void;
}

/** A clock that stands still until a test advances it. */
export function createFakeClock(start = Date.UTC(2026, 10, 20, 9, 30)): FakeClock {
  let now = start;
  let counted = start;
  const sleepers = new Set<Sleeper>();
  return {
    now: () => now,
    monotonic: () => counted,
    counter: () => counted,
    follow: () => undefined,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper: Sleeper = {
          until: counted + milliseconds,
          wake() {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    set(time) {
      now = time;
    },
    advance(milliseconds) {
      now += milliseconds;
      counted += milliseconds;
      for (const sleeper of sleepers) if (sleeper.until <= counted) sleeper.wake();
    },
  };
}
