import { performance } from "node:perf_hooks";

/** Calls back in the next turn of the event loop, after earlier deferred callbacks. */
export type Defer = (callback: () => void) => void;

/** What the turns use of the event loop. */
export interface EventLoop {
  defer: Defer;
  /** Calls back after a pause in which the loop is idle, unless something else happens. */
  rest: Defer;
  /**
   * Returns the share of the last milliseconds in which the loop was busy; undefined if there is no new measurement.
   */
  utilization(): number | undefined;
}

/** How long the utilization is measured, and how long a rest lasts, in milliseconds. */
const [MEASURED_MS, REST_MS] = [10, 2];

export const createEventLoop = (defer: Defer = setImmediate): EventLoop => ({
  defer,
  rest: (callback) => void setTimeout(callback, REST_MS),
  utilization: measureUtilization(MEASURED_MS),
});

/**
 * Returns a function that returns the share of time, from 0 to 1, in which the event loop was busy since the function
 * last returned a share. It returns undefined if that was less than so many milliseconds ago, because too short a time
 * says nothing.
 */
export function measureUtilization(leastMs: number): () => number | undefined {
  let last = performance.eventLoopUtilization();
  return () => {
    const { utilization, active, idle } = performance.eventLoopUtilization(last);
    if (active + idle < leastMs) return undefined;
    last = performance.eventLoopUtilization();
    return utilization;
  };
}
