import type { Logger } from "pino";
import type { Checkouts } from "../../domain/checkouts.ts";
import type { Clock } from "../../domain/clock.ts";

/** The dependencies of the pages. */
export interface PageContext {
  config: { sandbox: boolean; simulatedLive: boolean };
  clock: Clock;
  checkouts: Checkouts;
  log: Logger;
}

/** Which note every page shows, if the service charges nobody. */
export function noteOf({ config }: PageContext): "sandbox" | "simulated" | undefined {
  if (config.sandbox) return "sandbox";
  return config.simulatedLive ? "simulated" : undefined;
}
