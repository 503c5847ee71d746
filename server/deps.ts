import type { Logger } from "pino";
import type { Clock } from "./domain/clock.ts";
import type { Config } from "./config.ts";
import type { Ids, Random } from "./domain/ids.ts";
import type { Storage } from "./domain/storage.ts";
import type { DeliveryWorker } from "./workers/deliveries.ts";
import type { Timeline } from "./workers/timeline.ts";

/** What the domain works with; all of it is passed in, so that tests choose each. */
export interface Deps {
  config: Config;
  storage: Storage;
  clock: Clock;
  ids: Ids;
  random: Random;
  log: Logger;
  deliveries: DeliveryWorker;
  timeline: Timeline;
  /** Aborted when the server stops: answers that are held back go out at once. */
  stopping: AbortSignal;
  /** Something may have fallen due: the workers look at once instead of at their next turn. */
  wake(): void;
}
