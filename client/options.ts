import { AuthenticationError, UsageError } from "./errors.ts";
import type { Hooks } from "./hooks.ts";
import { version } from "./version.ts";

/** When and how often to retry. Every attempt of a create has the same reference, so the create pays at most once. */
export interface RetryOptions {
  /** Attempts per call, including the first; 1 disables retries. Default 8. */
  tries?: number;
  /** Upper bound of the first delay, in ms. The bound doubles with each retry; each delay is random below it. Default 250. */
  minDelay?: number;
  /** Maximum of the upper bound, in ms. The service's `Retry-After` is added to the delay. Default 8,000. */
  maxDelay?: number;
  /**
   * Limit for all attempts and delays of a call, in ms. After a 409, reading the existing record has a second limit of
   * the same length. Default 60,000.
   */
  totalTime?: number;
}

/** How long and how often `waitFor` polls. */
export interface WaitOptions {
  /** Aborts the wait, which then throws AbortedError. The client's signal aborts it too. */
  signal?: AbortSignal | undefined;
  /** How long to wait for a final status, in ms. Default 120,000. */
  timeout?: number;
  /** Upper bound of the first delay, in ms. The bound doubles with each poll; each delay is random below it. Default 1,000. */
  minDelay?: number;
  /** Maximum of the upper bound, in ms. Default 10,000. */
  maxDelay?: number;
}

/** Options that can be set for the client and overridden for one call. */
export interface CallOptions {
  /** Aborts the call. A call is aborted by its own signal and by the client's. An aborted create that was already sent throws OutcomeUnknownError. */
  signal?: AbortSignal | undefined;
  /** Limit for one attempt, including reading the response, in ms. Default 15,000. */
  timeout?: number;
  retry?: RetryOptions;
  /**
   * Extra headers for each request of the client or of the call. They can replace `user-agent` and `traceparent`, but not
   * the API key.
   */
  headers?: ConstructorParameters<typeof Headers>[0];
}

/** Options of a create. */
export interface CreateOptions extends CallOptions {
  /**
   * `"return"`: if the reference is in use by a record that matches the request, return that record with
   * `recovered: true` instead of throwing DuplicateReferenceError. A record that differs is still an error.
   */
  ifExists?: "return" | undefined;
}

/** The type of a custom `fetch`: compatible with the global `fetch`. */
export type Fetch = (input: string | Request, init?: RequestInit) => Promise<Response>;

/** What the client writes to the console: nothing, failed attempts, or everything that hooks receive. */
export type LogLevel = "off" | "warn" | "debug";

/** Options of {@link createClient}. */
export interface ClientOptions extends CallOptions {
  /** URL of the service without `/v1`. May contain another path and end with slashes. */
  baseUrl: string | URL;
  /** The merchant's API key, or a function that returns it and is called before every attempt. */
  apiKey: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`. It must not retry requests itself. */
  fetch?: Fetch;
  hooks?: Hooks;
  /**
   * What to write to the console: failed attempts (`warn`), or all that hooks receive (`debug`). Default: the environment
   * variable `DISBURSEMENT_CHECKOUT_LOG`, or `off`.
   */
  logLevel?: LogLevel | undefined;
}

/** The validated options of a call, with all defaults filled in. */
export interface Settings {
  signal?: AbortSignal | undefined;
  timeout: number;
  retry: Required<RetryOptions>;
  headers: Record<string, string>;
}

export const defaults: Settings = {
  signal: undefined,
  timeout: 15_000,
  retry: { tries: 8, minDelay: 250, maxDelay: 8000, totalTime: 60_000 },
  headers: { "user-agent": `disbursement-checkout-client/${version}` },
};

export type CreateSettings = Settings & Pick<CreateOptions, "ifExists">;

const waitDefaults = { signal: undefined, timeout: 120_000, minDelay: 1000, maxDelay: 10_000 };

export const ignore = () => {};

const clientDefaults = {
  ...defaults,
  baseUrl: undefined as unknown,
  apiKey: undefined as unknown,
  // Read globalThis.fetch at each call, because instrumentation may replace it later. Browsers require that fetch is
  // not called as a method of another object.
  fetch: ((input, init) => globalThis.fetch(input, init)) as Fetch,
  hooks: {} as Hooks,
  logLevel: undefined as LogLevel | undefined,
};

// The largest number for an option. As a delay in ms it is just under 12 days; timers fire immediately if the delay
// exceeds 2^31-1 ms.
const longest = 1e9;

export function ensure(condition: unknown, message: string): asserts condition {
  if (!condition) throw new UsageError(message);
}

/** Checks a value that has no default. */
export function demand(value: unknown, isValid: boolean, name: string, rule: string) {
  ensure(value, `${name} is missing. It must be ${rule}.`);
  ensure(isValid, `${name} must be ${rule}.`);
}

/** Fills in defaults. Throws a UsageError for an unknown option, a type that differs from the default's, or a number out of range. */
export function complete<T extends object>(options: object | undefined, optionDefaults: T): T {
  const whole = { ...optionDefaults } as Record<string, unknown>;
  for (const [name, value] of Object.entries(options ?? {})) {
    ensure(name in whole, `No option "${name}". Use: ${Object.keys(whole).join(", ")}.`);
    if (value == null) continue;
    const type = typeof whole[name];
    ensure(type === "undefined" || typeof value === type, `${name} must be of type ${type}.`);
    ensure(type !== "number" || (value >= 1 && value <= longest), `${name} must be from 1 to ${longest}.`);
    whole[name] = value;
  }
  return whole as T;
}

/** Validates the options of a call and fills in the rest from `base`. */
export function resolveOptions<S extends Settings>(options: CallOptions | undefined, base: S): S {
  const settings = complete(options, base);
  try {
    settings.headers = { ...base.headers, ...Object.fromEntries(new Headers(settings.headers)) };
    // A call is aborted by its own signal and by the client's. Each call gets a new signal, because Node 20 warns about
    // more than ten listeners of one signal.
    const { signal } = settings;
    if (signal) settings.signal = AbortSignal.any([signal, base.signal ?? signal]);
  } catch {
    // The cause is dropped because its message contains the header value, which may be a secret.
    throw new UsageError("headers must be valid, and signal must be an AbortSignal.");
  }
  settings.retry = complete(settings.retry, base.retry);
  return settings;
}

/** Validates the options of a create and fills in the rest from `base`. */
export function resolveCreateOptions(options: CreateOptions | undefined, base: Settings): CreateSettings {
  const { ifExists, ...call } = options ?? {};
  ensure(!ifExists || ifExists === "return", 'ifExists must be "return".');
  return { ...resolveOptions(call, base), ifExists };
}

/** Turns wait options into call settings with unlimited attempts within the timeout. */
export function resolveWaitOptions(options: WaitOptions | undefined, base: Settings): Settings {
  const { signal, timeout: totalTime, ...delays } = complete(options, waitDefaults);
  return { ...resolveOptions({ signal }, base), retry: { tries: Infinity, totalTime, ...delays } };
}

/** Checks that the key is valid in a header. `fetch` would check it too, but its error message contains the key. */
function checkKey(key: unknown): string {
  demand(key, typeof key === "string" && /^[!-~]+$/.test(key), "apiKey", "ASCII without spaces");
  return key as string;
}

/** Returns the key, or what the function returns. */
async function callForKey(apiKey: unknown): Promise<unknown> {
  try {
    return typeof apiKey === "function" ? await apiKey() : apiKey;
  } catch (cause) {
    throw new AuthenticationError("The apiKey function failed.", { cause });
  }
}

/** The log level from the environment. Not every runtime has `process`, and Deno throws without permission to read. */
function levelFromEnvironment(): LogLevel | undefined {
  try {
    return (globalThis as unknown as Environment).process.env["DISBURSEMENT_CHECKOUT_LOG"];
  } catch {
    // As if the variable were not set.
  }
}

interface Environment {
  process: { env: Record<string, LogLevel | undefined> };
}

/** Validates the options of a client and fills in the defaults. */
export function resolveClientOptions(options: ClientOptions) {
  const { baseUrl, apiKey, hooks, fetch, logLevel, ...call } = complete(options, clientDefaults);
  if (typeof apiKey !== "function") checkKey(apiKey);
  const url = `${URL.canParse(baseUrl as string) && new URL(baseUrl as string).href.replace(/\/+$/, "")}`;
  const isValid = /^(?!.*\/v1$)https?:\/\/[^/@]+(\/[^?#]*)?$/.test(url);
  demand(baseUrl, isValid, "baseUrl", "the service's URL without /v1, user, query or fragment");
  const level = logLevel ?? (levelFromEnvironment() || "off");
  ensure(/^(off|warn|debug)$/.test(level), "logLevel must be off, warn or debug.");
  return {
    baseUrl: url,
    apiKey: async () => checkKey(await callForKey(apiKey)),
    hooks,
    logLevel: level,
    fetch,
    settings: resolveOptions(call, defaults),
  };
}
