import type { IncomingHttpHeaders } from "node:http";
import type { Effect, Exchange } from "../results.ts";

export type TargetRequest = {
  method: string;
  /** The path after the base URL, sent unchanged. */
  path: string;
  /** The worst case for money. Required for everything but GET. */
  effect?: Effect;
  /** Which API key to send: `none` sends none, `{ value }` any text. Default `own`. */
  key?: "own" | "second" | "none" | { value: string };
  headers?: Record<string, string | string[]>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent unchanged. */
  body?: string | Buffer;
  /** Milliseconds. Default `--timeout`. */
  timeoutMs?: number;
  /** The request forces an outcome of the sandbox (D17), so a 5xx or a missing response is not a fault. */
  forced?: boolean;
};

export type TargetResponse = {
  request: TargetRequest;
  exchange: Exchange;
  /** Undefined if no response was received; `exchange.failure` then says why. */
  status?: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; undefined if it is not JSON. */
  json: unknown;
  /** The faults Prism found, if the response passed through Prism. */
  prism?: string[];
};
