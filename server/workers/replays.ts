import type { ReplayStore } from "../domain/replays.ts";
import { createYielding } from "../sharing/yielding.ts";

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
  const giveWay = createYielding();
  return {
    async advance() {
      while (!stopping.aborted) {
        const replayed = await storage.advanceReplay();
        if (replayed === undefined) return;
        if (replayed > 0) onReady();
        await giveWay();
      }
    },
  };
}
