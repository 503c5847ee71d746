import { readFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { UsageError } from "./command.ts";
import { printableStart } from "./printable.ts";

/** The options of commands that talk to a running server. */
export const REMOTE_OPTIONS = {
  "base-url": {
    value: "URL",
    parse: baseUrl,
    meaning: "of the server; by default the one that runs here, else http://127.0.0.1:3000",
  },
  "api-key-file": {
    value: "FILE",
    parse: (text: string) => text,
    meaning: "contains the API key; otherwise it is read from the variable API_KEY",
  },
} as const;

const TIMEOUT_MS = 30_000;
/** The largest response, decompressed, in bytes. A page of 100 deliveries has less than a tenth of this size. */
const LARGEST_BODY = 4 * 1024 ** 2;

function baseUrl(text: string): string {
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return text.replace(/\/+$/, "");
  throw new Error("--base-url must be an http or https URL without user and password, such as http://127.0.0.1:3000.");
}

/** The server refused a request, or responded with something that is not in the contract. */
export class ResponseError extends Error {
  override name = "ResponseError";
  readonly status: number;
  /** From the contract's list of error codes; undefined if the response is not from this service. */
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(printableStart(message));
    this.status = status;
    this.code = code;
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
   * Sends a request and returns `data` of the response, or the whole body if it has no `data`. The caller checks its shape.
   * @throws ResponseError, Unreachable
   */
  send(method: "GET" | "POST", path: string, body?: object, signal?: AbortSignal): Promise<unknown>;
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
    send: (method, path, body, signal) =>
      whileAwaited(signal, async (ending) => {
        const headers = { "x-api-key": key, ...(body && { "content-type": "application/json" }) };
        const request = { method, headers, ...(body && { body: JSON.stringify(body) }), redirect: "error" as const };
        let status: number;
        let content: string;
        try {
          const response = await fetch(base + path, { ...request, signal: ending });
          status = response.status;
          content = await textOf(response);
        } catch (error) {
          if (error instanceof ResponseError) throw error;
          throw unreachable(base, error);
        }
        return dataOf(status, content);
      }),
  };
}

/**
 * Runs a request with a signal that ends it when the time is up, or when `signal` is aborted. AbortSignal.any would
 * keep its listeners in memory as long as `signal`.
 */
async function whileAwaited<T>(signal: AbortSignal | undefined, request: (ending: AbortSignal) => Promise<T>) {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, TIMEOUT_MS);
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  try {
    return await request(ending.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The API key cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function unreachable(base: string, error: unknown): Unreachable {
  const { cause } = error as { cause?: { code?: string } };
  return new Unreachable(`${base} does not respond (${cause?.code ?? (error as Error).name}).`, { cause: error });
}

/** Reads a body, which fetch has decompressed: a few KiB on the wire can become gigabytes. */
async function textOf({ status, body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new ResponseError(status, `The response has more than ${LARGEST_BODY} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function dataOf(status: number, content: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    throw new ResponseError(status, `The server returned ${status} and no JSON.`);
  }
  const body = (parsed ?? {}) as { data?: unknown; message?: unknown; code?: unknown };
  if (status >= 200 && status <= 299) return body.data ?? body;
  const message = typeof body.message === "string" ? body.message : `The server returned ${status}.`;
  throw new ResponseError(status, message, typeof body.code === "string" ? body.code : undefined);
}

/**
 * Ensures that the server is a sandbox: a command for tests must not move money.
 * @throws UsageError if it is not
 */
export async function requireSandbox({ baseUrl: base, send }: Remote): Promise<void> {
  const health = (await send("GET", "/healthz")) as { environment?: unknown };
  if (health.environment !== "sandbox") throw new UsageError(`${base} is no sandbox. Nothing was done.`);
}
