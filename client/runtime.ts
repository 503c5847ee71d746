/** Time and chance, passed in so that tests decide both. */
export interface Runtime {
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  /** Runs `action` after `delay` ms, unless the function that it returns is called before. */
  after(delay: number, action: () => void): () => void;
}

export const system: Runtime = {
  now: () => Date.now(),
  random: Math.random,
  after(delay, action) {
    const timer = setTimeout(action, delay);
    return () => clearTimeout(timer);
  },
};

/**
 * Calls `end` once, after `delay` ms or when the signal is aborted, whichever comes first. The function that it returns
 * calls this off.
 */
export function atEnd(runtime: Runtime, delay: number, signal: AbortSignal | undefined, end: () => void): () => void {
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
