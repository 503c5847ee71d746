import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { measureUtilization } from "./event-loop.ts";

/** The share of time that the event loop may be busy before background work waits. */
const MOST_BUSY = 0.5;
/** The length of a pause, after which the share is measured again, and the longest total of pauses, in milliseconds. */
const PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 25;

/**
 * Returns a function that lets requests run between two steps of background work: for a turn of the event loop, and for
 * some milliseconds more while the loop is busy. A thousand slow receivers must not slow the API, but their webhooks
 * continue.
 */
export function createYielding(): () => Promise<void> {
  const utilization = measureUtilization(PAUSE_MS / 2);
  const isBusy = () => (utilization() ?? 0) > MOST_BUSY;
  return async () => {
    await nextTurn();
    for (let waited = 0; waited < LONGEST_PAUSE_MS && isBusy(); waited += PAUSE_MS) await sleep(PAUSE_MS);
  };
}
