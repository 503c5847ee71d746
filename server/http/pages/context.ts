import type { Logger } from "pino";
import type { Checkouts } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";

/** What the pages work with. */
export interface PageContext {
  config: { sandbox: boolean };
  clock: Clock;
  checkouts: Checkouts;
  log: Logger;
}
