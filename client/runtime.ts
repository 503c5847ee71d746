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
  random: () => Math.random(),
  after(delay, action) {
    const timer = setTimeout(action, delay);
    return () => clearTimeout(timer);
  },
};

/** Waits `delay` ms; ends early, without an error, when the signal does. */
export async function sleep(runtime: Runtime, delay: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = runtime.after(delay, end);
    signal?.addEventListener("abort", end);
  });
}
