import type { IncomingHttpHeaders } from "node:http";
import type { Effect, Exchange } from "../results.ts";

export type TargetRequest = {
  method: string;
  /** What follows the base URL, sent as it stands. */
  path: string;
  /** What the request does to money at worst. Anything but a GET has to say. */
  effect?: Effect;
  /** `own` when left out. `none` sends no key, `{ value }` any text. */
  key?: "own" | "second" | "none" | { value: string };
  headers?: Record<string, string | string[]>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it stands. */
  body?: string | Buffer;
  /** Milliseconds; `--timeout` when left out. */
  timeoutMs?: number;
  /** The sandbox was asked for this outcome (D17), so that a 5xx, or no answer, is no fault. */
  forced?: boolean;
};

export type TargetResponse = {
  request: TargetRequest;
  exchange: Exchange;
  /** Left out when no answer came; `exchange.failure` then says why. */
  status?: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: unknown;
  /** What Prism finds wrong with the answer, when it came through Prism. */
  prism?: string[];
};
