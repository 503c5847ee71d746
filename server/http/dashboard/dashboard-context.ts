import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { SignInContext } from "../../domain/sign-in.ts";
import type { Rails } from "../../domain/rails.ts";
import type { Storage } from "../../domain/storage.ts";
import type { Reads } from "../../sharing/reads.ts";
import type { Turns } from "../../sharing/turns.ts";
import type { HandlerContext } from "../handlers.ts";

/** The dependencies of the dashboard's pages. */
export interface DashboardContext extends HandlerContext, SignInContext {
  config: Config;
  storage: Storage;
  log: Logger;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
  /** Limits the exports at a time. */
  exports: Reads;
  /** Shares the event loop between merchants. */
  turns: Turns;
}
