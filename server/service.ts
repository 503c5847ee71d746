import type { Express } from "express";
import type { Logger } from "pino";
import { createApp } from "./http/app.ts";
import type { Clock } from "./domain/clock.ts";
import type { Config } from "./config.ts";
import type { Deps } from "./deps.ts";
import { createIds, type Random } from "./domain/ids.ts";
import type { Storage } from "./domain/storage.ts";
import { createLanes } from "./webhooks/limits.ts";
import type { Lookup } from "./webhooks/lookup.ts";
import { createSender } from "./webhooks/send.ts";
import { createDeliveryWorker } from "./workers/deliveries.ts";
import { startLoop } from "./workers/loop.ts";
import { createTimeline } from "./workers/timeline.ts";

const SETTLE_EVERY_MS = 25;
const DELIVER_EVERY_MS = 100;
/** How many webhooks go out at once, to one receiver and in all. */
const LANES = { perHost: 64, total: 1_024 };
/** Real milliseconds that webhook attempts under way are given when the server stops. */
const DRAIN_MS = 5_000;

interface Options {
  config: Config;
  storage: Storage;
  clock: Clock;
  random: Random;
  /** From 0 to 1, for the jitter of retries. */
  chance: () => number;
  log: Logger;
  lookup: Lookup;
}

export interface Service {
  app: Express;
  deps: Deps;
  /** Lets answers that are held back go out; to be called before waiting for open connections. */
  release(): void;
  /** Ends the work in the background. The storage is left open. */
  stop(): Promise<void>;
}

/** Puts the server together: the domain over its storage, the HTTP side, and the workers. */
export function createService({ config, storage, clock, random, chance, log, lookup }: Options): Service {
  const stopping = new AbortController();
  const sender = createSender({ allowPrivate: config.webhookAllowPrivate, lookup, now: clock.now });
  const deliveries = createDeliveryWorker({
    storage,
    clock,
    sender,
    lanes: createLanes(LANES),
    chance,
    log,
    stopping: stopping.signal,
    onEnd: () => delivery.wake(),
  });
  const timeline = createTimeline({ storage, clock, deliveries, stopping: stopping.signal });

  const settlement = startLoop(
    async () => {
      if ((await timeline.settle()) > 0) delivery.wake();
    },
    SETTLE_EVERY_MS,
    { clock, log },
  );
  const delivery = startLoop(
    async () => {
      while (!stopping.signal.aborted && (await deliveries.begin()) > 0);
    },
    DELIVER_EVERY_MS,
    { clock, log },
  );

  const deps: Deps = {
    config,
    storage,
    clock,
    ids: createIds(random),
    random,
    log,
    deliveries,
    timeline,
    stopping: stopping.signal,
    wake: () => delivery.wake(),
  };
  return {
    app: createApp(deps),
    deps,
    release: () => stopping.abort(),
    async stop() {
      stopping.abort();
      await Promise.all([settlement.stop(), delivery.stop()]);
      await Promise.race([deliveries.idle(), clock.sleep(DRAIN_MS)]);
      await sender.close();
      await deliveries.idle();
    },
  };
}
