import type { Hooks, ResponseInfo } from "./hooks.ts";
import type { Limiter } from "./limiter.ts";
import type { LogLevel } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import type { Message, Path, Transport } from "./transport.ts";
import type { KindName, ListId, OperationId } from "./types.ts";

/** What a list contains: the name of its items in the operation id, and the path of the list. */
export interface Listed {
  name: KindName | "Balance" | "Statement";
  path: Path;
}

/** A kind of record. Statuses that are not in `final` are not final. */
export interface Kind extends Listed {
  name: KindName;
  final: RegExp;
}

export const balance: Listed = { name: "Balance", path: "/v1/balances" };
export const statement: Listed = { name: "Statement", path: "/v1/statements" };
export const disbursement: Kind = { name: "Disbursement", path: "/v1/disbursements", final: /^(success|failed)$/ };
/** Unlike a disbursement, a checkout has an optional reference, and the response to a create contains a link. */
export const checkout: Kind = { name: "Checkout", path: "/v1/checkouts", final: /^(success|failed|cancelled)$/ };

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
export interface Job extends Message {
  operation: OperationId | ListId;
  body?: { phoneNumber?: unknown };
  /** True if the response has the requested data. */
  matches(data: Data | undefined): boolean;
  /**
   * If set, the request is repeated until this function returns true for the data. Until then, a 404 is retried too,
   * because the record may not be readable yet.
   */
  until?: ((data: Data) => boolean) | undefined;
}

/** Identifies a call and collects its attempts. The requests with which a create finds its record belong to it. */
export interface Trace {
  callId: string;
  attempts: ResponseInfo[];
}
