import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";

export interface Loop {
  /** Looks at once instead of at the next turn. */
  wake(): void;
  /** Resolves when the turn under way has ended; no other follows. */
  stop(): Promise<void>;
}

/** Runs `turn` again and again, every so many milliseconds and whenever it is woken; a failure ends one turn, not the loop. */
export function startLoop(
  turn: () => Promise<void>,
  everyMs: number,
  { clock, log }: { clock: Clock; log: Logger },
): Loop {
  let stopped = false;
  let woken = new AbortController();

  async function run() {
    while (!stopped) {
      woken = new AbortController();
      try {
        await turn();
      } catch (error) {
        log.error({ err: error }, "a background turn failed; the next one tries again");
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
