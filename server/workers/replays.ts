import { setTimeout as sleep } from "node:timers/promises";
import type { ReplayStore } from "../domain/replays.ts";

/** The pause after a step, in which requests run. */
const PAUSE_MS = 5;

interface Options {
  storage: Pick<ReplayStore, "advanceReplay">;
  stopping: AbortSignal;
  /** Called when deliveries have become ready. */
  onReady(): void;
}

export interface Replays {
  /** Takes the due steps of the replays in progress. */
  advance(): Promise<void>;
}

/**
 * Carries out the replays that the storage keeps (D64). Several processes may carry out the same replay: each step is
 * taken once.
 */
export function createReplays({ storage, stopping, onReady }: Options): Replays {
  return {
    async advance() {
      while (!stopping.aborted) {
        const replayed = await storage.advanceReplay();
        if (replayed === undefined) return;
        if (replayed > 0) onReady();
        await sleep(PAUSE_MS);
      }
    },
  };
}
