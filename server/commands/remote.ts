// What the commands share that work at a running sandbox.
import { readFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { printableStart, UsageError, type Printer } from "./command.ts";

const TIMEOUT_MS = 30_000;

/** What a command at a sandbox gets. */
export interface SandboxContext {
  env: NodeJS.ProcessEnv;
  printer: Printer;
  /** Prepares requests. @throws UsageError if the server is no sandbox, or as `createRemote` does */
  connect(): Promise<Remote>;
}

export const sandboxContext = (options: RemoteOptions, env: NodeJS.ProcessEnv, printer: Printer): SandboxContext => ({
  env,
  printer,
  async connect() {
    const remote = createRemote(options, env);
    const { environment } = await remote.send<{ environment?: unknown }>("GET", "/healthz");
    // A command for tests must not move money.
    if (environment !== "sandbox") throw new UsageError(`${remote.baseUrl} is no sandbox. Nothing was done.`);
    return remote;
  },
});

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

interface RemoteOptions {
  baseUrl?: string;
  apiKeyFile?: string;
}

export interface Remote {
  baseUrl: string;
  key: string;
  /**
   * Sends a request and returns `data` of the response, or the whole body if it has no `data`.
   * @throws ResponseError, Unreachable
   */
  send<Data>(method: "GET" | "POST", path: string, body?: object): Promise<Data>;
}

/**
 * Prepares requests to a running server.
 * @param env environment variables
 * @throws UsageError if there is no key, ConfigError if the environment variables that name a server are invalid
 */
export function createRemote(options: RemoteOptions, env: NodeJS.ProcessEnv): Remote {
  const { baseUrl: base = readConfig(env).publicUrl, apiKeyFile: file } = options;
  const key = file === undefined ? env.API_KEY?.trim() : keyIn(file);
  if (!key) throw new UsageError("There is no API key. Set the variable API_KEY, or give --api-key-file FILE.");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("The API key contains characters that no key has.");
  return {
    baseUrl: base,
    key,
    async send<Data>(method: "GET" | "POST", path: string, body?: object) {
      const headers = { "x-api-key": key, ...(body && { "content-type": "application/json" }) };
      const request = {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      } as const;
      const [status, content] = await fetch(base + path, request)
        .then(async (response) => [response.status, await response.text()] as const)
        .catch((error: Error & { cause?: { code?: string } }) => {
          throw new Unreachable(`${base} does not respond (${error.cause?.code ?? error.name}).`, { cause: error });
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
