// What the commands share that work at a running sandbox.
import { readConfig } from "../config.ts";
import { textIn } from "../rails/settings.ts";
import { printable, UsageError } from "./command.ts";

const TIMEOUT_MS = 30_000;
const LONGEST_MESSAGE = 2_048;

/** A request got no response, or one that is no success or that no server of the contract sends. */
export class RemoteError extends Error {
  override name = "RemoteError";
  /** Undefined if no response was received. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(printable(message.slice(0, LONGEST_MESSAGE)));
    this.status = status;
  }
}

export interface Remote {
  baseUrl: string;
  key: string;
  /** Sends a request and returns `data` of the response, or the whole body if it has no `data`. @throws RemoteError */
  send<Data>(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<Data>;
}

interface RemoteOptions {
  baseUrl?: string;
  apiKeyFile?: string;
}

/** Prepares requests to a sandbox. @throws UsageError if the server is no sandbox, or as `createRemote` does */
export async function connectToSandbox(options: RemoteOptions, env: NodeJS.ProcessEnv): Promise<Remote> {
  const remote = createRemote(options, env);
  const { environment } = await remote.send<{ environment?: unknown }>("GET", "/healthz");
  // A command for tests must not move money.
  if (environment !== "sandbox") throw new UsageError(`${remote.baseUrl} is no sandbox. Nothing was done.`);
  return remote;
}

/**
 * Prepares requests to a running server.
 * @param env environment variables
 * @throws UsageError if there is no key, ConfigError if the environment variables that name a server are invalid
 */
export function createRemote({ baseUrl = "", apiKeyFile }: RemoteOptions, env: NodeJS.ProcessEnv): Remote {
  const base = baseUrl || readConfig(env).publicUrl;
  const key = apiKeyFile === undefined ? env.API_KEY?.trim() : keyIn(apiKeyFile);
  if (!key) throw new UsageError("There is no API key. Set the variable API_KEY, or give --api-key-file FILE.");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("The API key contains characters that no key has.");
  return {
    baseUrl: base,
    key,
    async send<Data>(method: "GET" | "POST" | "DELETE", path: string, body?: object) {
      const content = body && { body: JSON.stringify(body) };
      const headers = { "x-api-key": key, ...(content && { "content-type": "application/json" }) };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const [status, text] = await fetch(base + path, { method, headers, ...content, redirect: "error", signal })
        .then(async (response) => [response.status, await response.text()] as const)
        .catch((error: Error & { cause?: { code?: string } }) => {
          throw new RemoteError(`${base} does not respond (${error.cause?.code ?? error.name}).`);
        });
      return dataOf(status, text) as Data;
    },
  };
}

function keyIn(file: string): string {
  try {
    return textIn(file);
  } catch (error) {
    throw new UsageError(`The API key ${(error as Error).message}`, { cause: error });
  }
}

function dataOf(status: number, text: string): unknown {
  let body: { data?: unknown; message?: unknown };
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    throw new RemoteError(`The server returned ${status} and no JSON.`, status);
  }
  if (status >= 200 && status <= 299) return body.data ?? body;
  throw new RemoteError(typeof body.message === "string" ? body.message : `The server returned ${status}.`, status);
}
