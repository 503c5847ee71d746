import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { ChangeMarks, Storage } from "../domain/storage.ts";
import type { Telemetry } from "../domain/telemetry.ts";
import { startLoop, type Loop } from "./loop.ts";

/** The shortest time between two looks, and the longest while nothing is committed here, in milliseconds. */
const LOOK_MS = { shortest: 100, longest: 250 };

/** What has changed of a merchant. */
export type Topic = keyof ChangeMarks;
type Watcher = (topic: Topic) => void;

interface Context {
  storage: Pick<Storage, "readMarks">;
  telemetry: Pick<Telemetry, "on">;
  clock: Clock;
  log: Logger;
}

export interface Changes {
  /**
   * Calls `watcher` soon after something of the merchant has changed, in this process or another one, and once at the
   * beginning if nobody else watches the merchant.
   * @returns a function that ends this
   */
  watch(merchantId: string, watcher: Watcher): () => void;
  stop(): Promise<void>;
}

/**
 * Tells who watches a merchant that something has changed (D66). While somebody watches, it looks for changes after
 * every commit of this process, and several times a second for those of other processes. Otherwise it does nothing.
 */
export function createChanges({ storage, telemetry, clock, log }: Context): Changes {
  const watchers = new Map<string, Set<Watcher>>();
  const seen = new Map<string, ChangeMarks>();
  /** Merchants with an attempt that has ended since the last look. The marks tell only of newer deliveries. */
  const attempted = new Set<string>();
  let running: { loop: Loop; stop(): Promise<void> } | undefined;

  function tell(merchantId: string, topic: Topic) {
    for (const watcher of watchers.get(merchantId) ?? []) watcher(topic);
  }

  async function look() {
    const touched = new Set(attempted);
    attempted.clear();
    for (const [merchantId, marks] of await storage.readMarks([...watchers.keys()])) {
      if (!watchers.has(merchantId)) continue;
      const before = seen.get(merchantId);
      seen.set(merchantId, marks);
      if (marks.payments !== before?.payments || touched.has(merchantId)) tell(merchantId, "payments");
      if (marks.requests !== before?.requests) tell(merchantId, "requests");
    }
  }

  function start() {
    const ending = new AbortController();
    const pause = LOOK_MS.longest - LOOK_MS.shortest;
    const loop = startLoop(
      async () => {
        await look();
        await clock.sleep(LOOK_MS.shortest, ending.signal);
      },
      pause,
      { clock, log },
    );
    const ends = [
      telemetry.on("commit", loop.wake),
      telemetry.on("attempt", ({ merchantId }) => {
        attempted.add(merchantId);
        loop.wake();
      }),
    ];
    return {
      loop,
      async stop() {
        for (const end of ends) end();
        ending.abort();
        await loop.stop();
      },
    };
  }

  function forget(merchantId: string, watcher: Watcher) {
    const others = watchers.get(merchantId);
    if (!others?.delete(watcher) || others.size > 0) return;
    watchers.delete(merchantId);
    seen.delete(merchantId);
    if (watchers.size === 0) void stop();
  }

  async function stop() {
    const ended = running;
    running = undefined;
    await ended?.stop();
  }

  return {
    watch(merchantId, watcher) {
      watchers.set(merchantId, (watchers.get(merchantId) ?? new Set()).add(watcher));
      if (running) running.loop.wake();
      else running = start();
      return () => forget(merchantId, watcher);
    },
    stop,
  };
}
