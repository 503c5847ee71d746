import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";

/** The longest pause after failed runs, so that work continues soon after the fault has ended. */
const LONGEST_PAUSE_MS = 1_000;

export type Loop = ReturnType<typeof startLoop>;

/**
 * Repeats `job`. Each run starts `everyMs` after the previous one has ended, or earlier if the loop is woken. A failed
 * run does not end the loop: after it the pause is `everyMs` doubled for each failure in a row, but at most a second, and
 * waking does not shorten it. The 1st, 2nd, 4th, … failure in a row is logged, except that the storage reports itself that
 * it is unavailable.
 */
export function startLoop(job: () => Promise<void>, everyMs: number, { clock, log }: { clock: Clock; log: Logger }) {
  let woken = new AbortController();
  const ending = new AbortController();
  let failures = 0;

  async function run() {
    while (!ending.signal.aborted) {
      woken = new AbortController();
      try {
        await job();
        failures = 0;
      } catch (error) {
        failures += 1;
        const isReported = error instanceof ServiceError && error.code === "unavailable";
        if (!isReported && Number.isInteger(Math.log2(failures))) {
          log.error({ err: error, failures }, "a background job failed; it will be retried");
        }
      }
      if (failures === 0) await clock.sleep(everyMs, woken.signal);
      else await clock.sleep(Math.min(everyMs * 2 ** failures, LONGEST_PAUSE_MS), ending.signal);
    }
  }

  const running = run();
  return {
    /** Ends the pause, unless the last run failed. The reason spares Node an error with a stack trace each time. */
    wake: () => woken.abort("woken"),
    /** Ends the loop. Resolves when the current run has ended. */
    async stop() {
      ending.abort();
      woken.abort();
      await running;
    },
  };
}

/** The pause after a step of work that can wait, in which requests run. */
export const PAUSE_MS = 5;

/** Repeats a step until it finds nothing more to do, or the server stops. */
export async function untilDone(stopping: AbortSignal, step: () => Promise<boolean>, pauseMs?: number): Promise<void> {
  while (!stopping.aborted && (await step())) if (pauseMs !== undefined) await sleep(pauseMs);
}
