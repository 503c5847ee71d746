import type { Logger } from "pino";
import type { HandoverStore } from "../domain/handovers.ts";
import type { Clock } from "../domain/clock.ts";
import type { Rails } from "../domain/rails.ts";

/** After this many calls in a row without a result, a rail is left alone for a while. */
const FAILURES = 5;
/** How long a rail is left alone, in milliseconds: twice as long each time, until a call has a result. */
const PAUSE_MS = { first: 1_000, longest: 60_000 };
/** How often this process reads which rails are paused. */
const READ_PAUSES_EVERY_MS = 1_000;

interface Gate {
  /** Calls in a row without a result, except calls that were in progress when the circuit breaker opened. */
  failures: number;
  /** On the monotonic clock: the end of the circuit breaker's pause, and of the delay that the rail asked for. */
  brokenUntil: number;
  waitsUntil: number;
}

interface Options {
  rails: Rails;
  storage: Pick<HandoverStore, "readPauses">;
  clock: Pick<Clock, "monotonic">;
  /** An outage of a rail is logged when it begins and when it ends. */
  log: Pick<Logger, "warn">;
}

export type RailGates = ReturnType<typeof createRailGates>;

/** Decides whether a rail may be asked now: a circuit breaker for each rail, and the pauses that people have set. */
export function createRailGates({ rails, storage, clock, log }: Options) {
  const gates = new Map<string, Gate>();
  /** Undefined until it is known. */
  let paused: Set<string> | undefined;
  let readAt = -Infinity;

  function gateOf(rail: string): Gate {
    const gate = gates.get(rail) ?? { failures: 0, brokenUntil: 0, waitsUntil: 0 };
    gates.set(rail, gate);
    return gate;
  }

  return {
    isOpen(rail: string): boolean {
      const { brokenUntil, waitsUntil } = gateOf(rail);
      const isUsable = rails.get(rail) !== undefined && paused?.has(rail) === false;
      return isUsable && clock.monotonic() >= Math.max(brokenUntil, waitsUntil);
    },
    /**
     * Notes the result of a call, or that the limit of requests held the call back.
     * @param retryAfterMs when the rail may be asked again
     * @param detail why the call failed, for the log
     */
    note(rail: string, result: "answered" | "failed" | "held", retryAfterMs = 0, detail?: string): void {
      const gate = gateOf(rail);
      const now = clock.monotonic();
      gate.waitsUntil = Math.max(gate.waitsUntil, now + retryAfterMs);
      if (result === "answered") {
        if (gate.failures >= FAILURES) log.warn({ rail }, "calls of a rail have results again");
        Object.assign(gate, { failures: 0, brokenUntil: 0 });
      }
      if (result !== "failed" || now < gate.brokenUntil) return;
      gate.failures += 1;
      if (gate.failures < FAILURES) return;
      if (gate.failures === FAILURES)
        log.warn({ rail, detail }, `${FAILURES} calls of a rail in a row had no result; its payments wait`);
      gate.brokenUntil = now + Math.min(PAUSE_MS.first * 2 ** (gate.failures - FAILURES), PAUSE_MS.longest);
    },
    /** Reads the pauses, unless they were just read. */
    async refresh() {
      const now = clock.monotonic();
      if (now < readAt + READ_PAUSES_EVERY_MS) return;
      paused = new Set((await storage.readPauses()).map(({ rail }) => rail));
      readAt = now;
    },
  };
}
