import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";

export interface Loop {
  /** Starts the next run immediately. */
  wake(): void;
  /** Ends the loop. Resolves when the current run has ended. */
  stop(): Promise<void>;
}

/**
 * Repeats `job`. Each run starts `everyMs` after the previous one has ended, or earlier if the loop is woken. A failed
 * run is logged and does not end the loop.
 */
export function startLoop(
  job: () => Promise<void>,
  everyMs: number,
  { clock, log }: { clock: Clock; log: Logger },
): Loop {
  let stopped = false;
  let woken = new AbortController();

  async function run() {
    while (!stopped) {
      woken = new AbortController();
      try {
        await job();
      } catch (error) {
        log.error({ err: error }, "a background job failed; it will be retried");
      }
      if (!stopped) await clock.sleep(everyMs, woken.signal);
    }
  }

  const running = run();
  return {
    wake: () => woken.abort(),
    async stop() {
      stopped = true;
      woken.abort();
      await running;
    },
  };
}
