import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { SignInContext } from "../../domain/dashboard.ts";
import type { Storage } from "../../domain/storage.ts";
import type { Changes } from "../../workers/changes.ts";
import type { Reads } from "../../workers/reads.ts";
import type { HandlerContext } from "../handlers.ts";

/** The dependencies of the dashboard's pages. */
export interface DashboardContext extends HandlerContext, SignInContext {
  config: Config;
  storage: Storage;
  log: Logger;
  changes: Changes;
  /** Limits the exports at a time. */
  exports: Reads;
  /** Aborted when the server is about to stop. It still serves requests, but is not ready. */
  draining: AbortSignal;
}
