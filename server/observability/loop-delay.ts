import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Emit } from "../domain/telemetry.ts";

const SAMPLE_EVERY_MS = 20;
const REPORT_EVERY_MS = 1_000;

/** Reports every second for how long the event loop was blocked. Does not keep the process running. */
export function watchLoopDelay(emit: Emit): void {
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });
  delays.enable();
  const report = () => {
    // The monitor counts its own interval as delay, in nanoseconds.
    const longestMs = Math.max(0, delays.max / 1e6 - SAMPLE_EVERY_MS);
    delays.reset();
    emit("loopDelay", { longestMs });
  };
  setInterval(report, REPORT_EVERY_MS).unref();
}
