import type { Logger } from "pino";
import type { Checkouts } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";

/** The dependencies of the pages. */
export interface PageContext {
  config: { sandbox: boolean };
  clock: Clock;
  checkouts: Checkouts;
  log: Logger;
}
