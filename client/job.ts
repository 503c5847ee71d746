import type { Hooks, ResponseInfo } from "./hooks.ts";
import type { Limiter } from "./limiter.ts";
import type { LogLevel } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import type { Path, Transport } from "./transport.ts";
import type { ListId, OperationId } from "./types.ts";

/** State shared by all calls of a client. */
export interface Context {
  runtime: Runtime;
  limiter: Limiter;
  transport: Transport;
  /** URL of the service, without a trailing slash. */
  baseUrl: string;
  apiKey: () => Promise<string>;
  hooks: Hooks;
  logLevel: LogLevel;
  /** True after the first response that is certainly from the service. */
  isReached?: boolean;
}

/** The fields that the `data` of every response has. */
export interface Data {
  reference: string;
  merchantsReference: string;
  amount: number;
  status: string;
}

/** The request of a call; every attempt sends the same. */
export interface Job {
  operation: OperationId | ListId;
  path: Path;
  /** The merchant's reference for a create, the service's reference for a verify. */
  reference: string | undefined;
  body?: { phoneNumber?: unknown };
  /** Set by list: the filters and the cursor. */
  query?: object;
  /** True if the response has the requested data. */
  matches(data: Data | undefined): boolean;
  /**
   * If set, the request is repeated until this function returns true for the data. A missing record may appear
   * meanwhile.
   */
  until?: ((data: Data) => boolean) | undefined;
}

/** Identifies a call and collects its attempts. The requests with which a create finds its record belong to it. */
export interface Trace {
  callId: string;
  attempts: ResponseInfo[];
}
