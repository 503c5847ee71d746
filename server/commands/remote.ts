// What the commands share that talk to a running server.
import { readFileSync } from "node:fs";
import { distance } from "fastest-levenshtein";
import { readConfig } from "../config.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { UsageError, printableStart } from "./command.ts";

/** The options of these commands. */
export const REMOTE_OPTIONS = {
  "base-url": {
    value: "URL",
    parse: baseUrl,
    meaning: "of the server; by default the one that runs here, else http://127.0.0.1:3000",
  },
  "api-key-file": {
    value: "FILE",
    meaning: "contains the API key; otherwise it is read from the variable API_KEY",
  },
} as const;

const TIMEOUT_MS = 30_000;

function baseUrl(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return text.replace(/\/+$/, "");
  throw new Error("--base-url must be an http or https URL without user and password, such as http://127.0.0.1:3000.");
}

/** Returns the name that is most similar to a mistyped name. */
export function nearest(word: string, names: readonly string[]): string {
  const away = (name: string) => distance(word.toLowerCase(), name.toLowerCase());
  return names.toSorted((a, b) => away(a) - away(b))[0]!;
}

/** @throws UsageError unless there is an event of this name */
export function eventNamed(name: string, hint = ""): EventType {
  const event = EVENT_TYPES.find((each) => each === name);
  if (event) return event;
  throw new UsageError(`There is no event ${name}. Did you mean ${nearest(name, EVENT_TYPES)}?${hint}`);
}

/** The server refused a request, or responded with something that no server of the contract sends. */
export class ResponseError extends Error {
  override name = "ResponseError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(printableStart(message));
    this.status = status;
  }
}

/** No response was received. */
export class Unreachable extends Error {
  override name = "Unreachable";
}

export interface Remote {
  baseUrl: string;
  key: string;
  /**
   * Sends a request and returns `data` of the response, or the whole body if it has no `data`.
   * @throws ResponseError, Unreachable
   */
  send<Data>(method: "GET" | "POST", path: string, body?: object, signal?: AbortSignal): Promise<Data>;
}

/**
 * Prepares requests to a running server.
 * @param env environment variables
 * @throws UsageError if there is no key, ConfigError if the environment variables that name a server are invalid
 */
export function createRemote(
  options: { "base-url"?: string; "api-key-file"?: string },
  env: Readonly<Record<string, string | undefined>>,
): Remote {
  const { "base-url": base = readConfig(env).publicUrl, "api-key-file": file } = options;
  const key = file === undefined ? env.API_KEY?.trim() : keyIn(file);
  if (!key) throw new UsageError("There is no API key. Set the variable API_KEY, or give --api-key-file FILE.");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("The API key contains characters that no key has.");
  return {
    baseUrl: base,
    key,
    async send<Data>(method: "GET" | "POST", path: string, body?: object, stopping?: AbortSignal) {
      const headers = { "x-api-key": key, ...(body && { "content-type": "application/json" }) };
      // AbortSignal.any would keep a part of each request in memory as long as `stopping`, for which `listen` polls.
      const ending = new AbortController();
      const stop = () => ending.abort(stopping?.reason);
      const timer = setTimeout(() => ending.abort(new DOMException("The time is over.", "TimeoutError")), TIMEOUT_MS);
      stopping?.addEventListener("abort", stop, { once: true });
      if (stopping?.aborted) stop();
      const request = {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
        redirect: "error",
        signal: ending.signal,
      } as const;
      const [status, content] = await fetch(base + path, request)
        .then(async (response) => [response.status, await response.text()] as const)
        .catch((error: Error & { cause?: { code?: string } }) => {
          throw new Unreachable(`${base} does not respond (${error.cause?.code ?? error.name}).`, { cause: error });
        })
        .finally(() => {
          clearTimeout(timer);
          stopping?.removeEventListener("abort", stop);
        });
      return dataOf(status, content) as Data;
    },
  };
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The API key cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function dataOf(status: number, content: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    throw new ResponseError(status, `The server returned ${status} and no JSON.`);
  }
  const body = (parsed ?? {}) as { data?: unknown; message?: unknown };
  if (status >= 200 && status <= 299) return body.data ?? body;
  throw new ResponseError(status, typeof body.message === "string" ? body.message : `The server returned ${status}.`);
}

/**
 * Ensures that the server is a sandbox: a command for tests must not move money.
 * @throws UsageError if it is not
 */
export async function requireSandbox({ baseUrl: base, send }: Remote): Promise<void> {
  const health = await send<{ environment?: unknown }>("GET", "/healthz");
  if (health.environment !== "sandbox") throw new UsageError(`${base} is no sandbox. Nothing was done.`);
}
