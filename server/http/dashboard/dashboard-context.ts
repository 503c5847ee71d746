import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { SignInContext } from "../../domain/sign-in.ts";
import type { Rails } from "../../domain/rails.ts";
import type { Storage } from "../../domain/storage.ts";
import type { HandlerContext } from "../handlers.ts";
import type { RequestRoom } from "../request-limit.ts";

/** The dependencies of the dashboard's pages. */
export interface DashboardContext extends HandlerContext, SignInContext {
  config: Config;
  storage: Storage;
  log: Logger;
  /** What carries the money of a live service; absent in a sandbox. */
  rails?: Rails | undefined;
  /** Where requests wait for room. */
  room: RequestRoom;
}
