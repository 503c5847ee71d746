import type { IncomingHttpHeaders } from "node:http";
import type { CreatedRecord, Effect, Exchange } from "../results.ts";
import type { Together } from "./together.ts";

/** What the requests of one check have caused, without the requests of other checks that run at the same time. */
export type Account = {
  exchanges: Exchange[];
  /** The records that the requests created, or may have created if the response was lost. */
  created: CreatedRecord[];
  payouts: number;
  total: number;
};

export const newAccount = (): Account => ({ exchanges: [], created: [], payouts: 0, total: 0 });

export type TargetRequest = {
  method: string;
  /** The path after the base URL, with the query. It is sent unchanged. */
  path: string;
  /** The worst effect on money that the request may have. The default `none` is allowed only for GET. */
  effect?: Effect;
  /** Which API key to send. `none` sends no key and `{ value }` sends that text. The default is `own`. */
  key?: "own" | "second" | "none" | { value: string };
  headers?: Record<string, string | string[]>;
  /** The body as a value, which is sent as JSON. */
  json?: unknown;
  /** The body as text or bytes, which are sent unchanged. */
  body?: string | Buffer;
  timeoutMs?: number;
  /** Set if the request forces an outcome of the sandbox (D17). A 5xx or a missing response is then not a fault. */
  forced?: boolean;
  /** Set if the request is meant to exceed the declared velocity, so that it is not delayed. */
  exceedsVelocity?: boolean;
  together?: Together;
  /** The account to which the request is charged, and which gets its exchange. */
  account?: Account;
};

export type TargetResponse = {
  request: TargetRequest;
  exchange: Exchange;
  /** The status; undefined if no response was received. `exchange.failure` then says why. */
  status?: number;
  headers: IncomingHttpHeaders;
  /** Set if a 100 Continue came before the response, and the request did not ask for one. */
  continued?: true;
  text: string;
  json: unknown;
  /** The faults that Prism found; undefined if the response did not pass through Prism. */
  prism?: string[];
};

export const isAccepted = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;

/** The statuses that mean that a service refused a request and recorded nothing. The client reads them so too. */
const refusals = new Set([400, 401, 403, 404, 405, 409, 413, 415, 422, 429]);

export const isRefused = ({ status = 0 }: Pick<TargetResponse, "status">) => refusals.has(status);

/**
 * True if the service may have executed the request: there was no response, or it neither accepts nor refuses the
 * request, such as a 5xx, a 408 and a redirect.
 */
export const isUnknown = (response: TargetResponse) => !isAccepted(response) && !isRefused(response);

/** Returns the `data` of a response's body; `{}` if it is not an object. */
export function dataOf({ json }: TargetResponse): Record<string, unknown> {
  const data = (json as { data?: unknown } | null | undefined)?.data;
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}

/** Describes a response in a few words, for people. */
export function describeResponse(response: Pick<TargetResponse, "status" | "exchange">): string {
  if (response.status === undefined) return `no response: ${response.exchange.failure ?? ""}`;
  const body = response.exchange.responseBody?.replaceAll(/\s+/g, " ").trim() ?? "";
  return `${response.status} ${body === "" ? "with an empty body" : body.length > 200 ? `${body.slice(0, 200)}…` : body}`;
}
