import type { Logger } from "pino";
import type { Checkouts } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";
import type { HandoverStore } from "../../domain/handovers.ts";

/** The dependencies of the pages. */
export interface PageContext {
  config: { sandbox: boolean };
  clock: Clock;
  checkouts: Checkouts;
  storage: Pick<HandoverStore, "findHandover">;
  log: Logger;
}

/** The note that every page shows if the service charges nobody. */
export const noteOf = ({ config }: PageContext): "sandbox" | undefined => (config.sandbox ? "sandbox" : undefined);
