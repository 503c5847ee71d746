/** Clocks, timers and randomness, passed in so that tests control them. */
export interface Runtime {
  /** Milliseconds since some moment, unaffected by changes of the system clock. Measures durations. */
  now(): number;
  /** Milliseconds since 1970, by the system clock. */
  date(): number;
  /** A random number from 0 up to but not including 1. */
  random(): number;
  /** A random id of 32 hexadecimal digits. */
  id(): string;
  /** Runs `action` after `delay` ms. The returned function cancels it. */
  after(delay: number, action: () => void): () => void;
}

export const system: Runtime = {
  now: () => performance.now(),
  date: () => Date.now(),
  random: Math.random,
  id: () => crypto.randomUUID().replaceAll("-", ""),
  after(delay, action) {
    // The delay is negative if its end has passed before this call, and Node warns of a negative delay.
    const timer = setTimeout(action, Math.max(0, delay));
    return () => clearTimeout(timer);
  },
};

/**
 * Calls `end` once, after `delay` ms or when the signal is aborted, whichever is first. The returned function cancels
 * it.
 */
export function afterOrAbort(
  runtime: Runtime,
  delay: number,
  signal: AbortSignal | undefined,
  end: () => void,
): () => void {
  const cancel = () => {
    cancelTimer();
    signal?.removeEventListener("abort", fire);
  };
  const fire = () => {
    cancel();
    end();
  };
  signal?.addEventListener("abort", fire);
  const cancelTimer = runtime.after(delay, fire);
  if (signal?.aborted) fire();
  return cancel;
}
