import { UsageError } from "./errors.ts";
import type { OperationId } from "./types.ts";

/** When to try again. Every try of a create carries the same reference, so that it pays at most once. */
export interface RetryOptions {
  /** Requests per call, the first included; 1 never tries again. Default 8. */
  tries?: number;
  /** Upper end of the first pause, in ms; it doubles with each try, and the pause is drawn at random below it. Default 250. */
  minDelay?: number;
  /** What the upper end grows to, in ms. A `Retry-After` of the service comes on top. Default 8,000. */
  maxDelay?: number;
  /** For all tries and pauses of a call together, in ms; looking up what a 409 points to has as much again. Default 60,000. */
  totalTime?: number;
}

/** How long and how often `waitFor` looks. */
export interface WaitOptions {
  /** Ends the wait with AbortedError. */
  signal?: AbortSignal | undefined;
  /** How long to wait for a final status, in ms. Default 120,000. */
  timeout?: number;
  /** Upper end of the first pause, in ms; it doubles with each look, and the pause is drawn at random below it. Default 1,000. */
  minDelay?: number;
  /** What the upper end grows to, in ms. Default 10,000. */
  maxDelay?: number;
}

/** What a hook is told about a try. Neither key, headers, bodies nor phone numbers are in it. */
export interface RequestInfo {
  operation: OperationId;
  /** The merchant's reference of a create, the service's of a verify. */
  reference: string | undefined;
  /** Counted from 1. */
  attempt: number;
}

/** An error as hooks are told of it: without the records, causes and stack that the error of the call has. */
export interface ErrorInfo {
  /** The name of the error's class. */
  code: string;
  /** With the status, and what the service said. */
  message: string;
}

/** How a try ended. */
export interface ResponseInfo extends RequestInfo {
  /** In ms. */
  duration: number;
  /** HTTP status, when there was an answer. */
  status: number | undefined;
  requestId: string | undefined;
  /** What went wrong. Nothing did when `waitFor` finds a record still pending. */
  error: ErrorInfo | undefined;
}

/** What is told before a pause. */
export interface RetryInfo extends RequestInfo {
  /** The pause before the next try, in ms. */
  delay: number;
  /** What went wrong; undefined when `waitFor` found the record still pending. */
  error: ErrorInfo | undefined;
}

/** For logs and metrics. They are not waited for, and an error in one changes nothing. */
export interface Hooks {
  onRequest?(info: RequestInfo): void;
  onResponse?(info: ResponseInfo): void;
  onRetry?(info: RetryInfo): void;
}

/** What may differ from call to call. */
export interface CallOptions {
  /** Ends the call; a client's own ends all calls that have none. A create that was already sent then throws OutcomeUnknownError. */
  signal?: AbortSignal | undefined;
  /** For one try, reading the answer included, in ms. Default 15,000. */
  timeout?: number;
  retry?: RetryOptions;
  /** Sent along with every request; never instead of the key. */
  headers?: ConstructorParameters<typeof Headers>[0];
}

/** What a `fetch` of one's own must be: the global one's shape. */
export type Fetch = (input: string | Request, init?: RequestInit) => Promise<Response>;

/** What a client is made of. */
export interface ClientOptions extends CallOptions {
  /** Where the service is, without `/v1` at its end; another path and slashes at its end are fine. */
  baseUrl: string | URL;
  /** The merchant's key, or a function that gives it; the function is asked before every try. */
  apiKey: string | (() => string | Promise<string>);
  /** Used instead of the global `fetch`. */
  fetch?: Fetch;
  hooks?: Hooks;
}

/** Options of a call after checks, with nothing left open. */
export interface Settings {
  signal?: AbortSignal | undefined;
  timeout: number;
  retry: Required<RetryOptions>;
  headers: Record<string, string>;
}

const defaults: Settings = {
  signal: undefined,
  timeout: 15_000,
  retry: { tries: 8, minDelay: 250, maxDelay: 8000, totalTime: 60_000 },
  headers: {},
};

const waitDefaults = { signal: undefined, timeout: 120_000, minDelay: 1000, maxDelay: 10_000 };

export const ignore = () => {};
const noHooks: Required<Hooks> = { onRequest: ignore, onResponse: ignore, onRetry: ignore };

const clientDefaults = {
  ...defaults,
  baseUrl: undefined as unknown,
  apiKey: undefined as unknown,
  // Looked up for every call: the global one may be replaced later, and must be called without an object.
  fetch: ((input, init) => globalThis.fetch(input, init)) as Fetch,
  hooks: noHooks as Hooks,
};

// A longer timer would fire at once.
const longest = 1e9;

export function ensure(condition: unknown, message: string): asserts condition {
  if (!condition) throw new UsageError(message);
}

/** The options over their defaults. Refuses a name that no default has, a type that differs from it, a number out of range. */
function complete<T extends object>(options: object | undefined, defaultsOfKind: T): T {
  const whole = { ...defaultsOfKind } as Record<string, unknown>;
  for (const [name, value] of Object.entries(options ?? {})) {
    ensure(name in whole, `No option "${name}", only: ${Object.keys(whole).join(", ")}.`);
    if (value == null) continue;
    const type = typeof whole[name];
    ensure(type === "undefined" || typeof value === type, `${name} must be of type ${type}.`);
    ensure(type !== "number" || (value > 0 && value <= longest), `${name} must be from 1 to ${longest}.`);
    whole[name] = value;
  }
  return whole as T;
}

/** Refuses what is wrong in a call's options and takes from `base` what they leave open. */
export function settle(options: CallOptions | undefined, base: Settings): Settings {
  const settings = complete<Settings>(options, base);
  try {
    settings.headers = { ...base.headers, ...Object.fromEntries(new Headers(settings.headers)) };
  } catch {
    // Without its cause, which shows the value: it may be a secret.
    throw new UsageError("headers must be valid.");
  }
  settings.retry = complete(settings.retry, base.retry);
  return settings;
}

/** A wait as a call that is tried until its time is over. */
export function settleWait(options: WaitOptions | undefined, base: Settings): Settings {
  const { signal = base.signal, timeout: totalTime, ...delays } = complete(options, waitDefaults);
  return { ...base, signal, retry: { tries: Infinity, totalTime, ...delays } };
}

/** The key, fit for a header. The message must not repeat it, as the one of `fetch` would. */
function checkKey(key: unknown): string {
  const isPlain = typeof key === "string" && /^[!-~]+$/.test(key);
  ensure(isPlain, "apiKey must be ASCII without spaces.");
  return key;
}

/** Refuses wrong client options with a text that says what to do. */
export function settleClient(options: ClientOptions) {
  const { baseUrl, apiKey, hooks, fetch, ...call } = complete(options, clientDefaults);
  if (typeof apiKey !== "function") checkKey(apiKey);
  const url = URL.canParse(baseUrl as string) ? new URL(baseUrl as string).href.replace(/\/+$/, "") : "";
  ensure(
    /^(?!.*\/v1$)https?:\/\/[^/@]+(\/[^?#]*)?$/.test(url),
    "baseUrl must be http(s), without /v1, user, query or fragment.",
  );
  return {
    baseUrl: url,
    giveKey: async () => checkKey(typeof apiKey === "function" ? await apiKey() : apiKey),
    hooks: complete(hooks, noHooks),
    fetch,
    settings: settle(call, defaults),
  };
}
