import type { HandoverStore } from "../domain/handovers.ts";
import type { Clock } from "../domain/clock.ts";
import type { Rails } from "../domain/rails.ts";

/** After this many calls in a row without a result, a rail is left alone for a while. */
const FAILURES = 5;
/** How long, in milliseconds: twice as long each time, until a call has a result. */
const PAUSE_MS = { first: 1_000, longest: 60_000 };
/** How often this process reads which rails are paused. */
export const READ_PAUSES_EVERY_MS = 1_000;

/** Decides whether a rail may be asked now: a circuit breaker for each rail, and the pauses that people have set. */
export interface RailGates {
  isOpen(rail: string): boolean;
  /** Notes how a call ended. @param retryAfterMs when the rail wants to be asked again */
  note(rail: string, result: "answered" | "failed", retryAfterMs?: number): void;
  /** Reads the pauses. Call it every `READ_PAUSES_EVERY_MS`. */
  refresh(): Promise<void>;
}

interface Gate {
  failures: number;
  pauseMs: number;
  /** On the monotonic clock. */
  closedUntil: number;
}

export function createRailGates({
  rails,
  storage,
  clock,
}: {
  rails: Rails;
  storage: Pick<HandoverStore, "readPauses">;
  clock: Pick<Clock, "monotonic">;
}): RailGates {
  const gates = new Map<string, Gate>();
  let paused = new Set<string>();

  function gateOf(rail: string): Gate {
    const gate = gates.get(rail) ?? { failures: 0, pauseMs: PAUSE_MS.first, closedUntil: 0 };
    gates.set(rail, gate);
    return gate;
  }

  return {
    isOpen: (rail) =>
      rails.get(rail) !== undefined && !paused.has(rail) && clock.monotonic() >= gateOf(rail).closedUntil,
    note(rail, result, retryAfterMs = 0) {
      const gate = gateOf(rail);
      const now = clock.monotonic();
      if (result === "answered") {
        gates.set(rail, { failures: 0, pauseMs: PAUSE_MS.first, closedUntil: now + retryAfterMs });
        return;
      }
      gate.failures += 1;
      const isBroken = gate.failures >= FAILURES && now >= gate.closedUntil;
      gate.closedUntil = Math.max(gate.closedUntil, now + retryAfterMs, isBroken ? now + gate.pauseMs : 0);
      if (isBroken) gate.pauseMs = Math.min(gate.pauseMs * 2, PAUSE_MS.longest);
    },
    async refresh() {
      paused = new Set((await storage.readPauses()).map(({ rail }) => rail));
    },
  };
}
