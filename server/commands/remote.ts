// What the commands share that talk to a running sandbox.
import { readFileSync } from "node:fs";
import { readConfig } from "../config.ts";
import { EVENT_TYPES, type EventType } from "../domain/events.ts";
import { parseCommand, printableStart, UsageError, usageOf, type Input, type Printer, type Syntax } from "./command.ts";

const REMOTE_OPTIONS = {
  "base-url": {
    value: "URL",
    parse: baseUrl,
    meaning: "of the server, without user and password; by default the one that runs here, else http://127.0.0.1:3000",
  },
  "api-key-file": {
    value: "FILE",
    meaning: "contains the API key; otherwise it is read from the variable API_KEY",
  },
} as const;

const TIMEOUT_MS = 30_000;

interface Context {
  env: NodeJS.ProcessEnv;
  printer: Printer;
  /** Prepares requests. @throws UsageError if the server is no sandbox, or as `createRemote` does */
  connect(): Promise<Remote>;
}

/** A command without a group. Its options name a server, beside the options of its own. */
export function remoteCommand<const Takes extends string, const Own extends Syntax["options"] & {}>(
  name: string,
  {
    run,
    ...entry
  }: Syntax & { takes: Takes; options: Own; run(context: Context, input: Input<Takes, Own>): Promise<void> },
) {
  const takes = `${entry.takes} [--base-url] [--api-key-file]`;
  const table = { [name]: { ...entry, takes, options: { ...entry.options, ...REMOTE_OPTIONS } } };
  return {
    usage: () => usageOf("", table, name),
    async run(args: readonly string[], env: NodeJS.ProcessEnv, printer: Printer): Promise<0> {
      const { input } = parseCommand("", table, [name, ...args]);
      async function connect() {
        const remote = createRemote(input as Parameters<typeof createRemote>[0], env);
        await requireSandbox(remote);
        return remote;
      }
      await run({ env, printer, connect }, input as Input<Takes, Own>);
      return 0;
    },
  };
}

function baseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  const isValid = url && /^https?:$/.test(url.protocol) && !url.username && !url.password;
  return isValid ? text.replace(/\/+$/, "") : undefined;
}

/** @throws UsageError unless there is an event of this name */
export function eventNamed(name: string): EventType {
  const event = EVENT_TYPES.find((each) => each === name);
  if (event) return event;
  throw new UsageError(`There is no event ${name}. There are ${EVENT_TYPES.join(", ")}.`);
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
  send<Data>(method: "GET" | "POST", path: string, body?: object): Promise<Data>;
}

/**
 * Prepares requests to a running server.
 * @param env environment variables
 * @throws UsageError if there is no key, ConfigError if the environment variables that name a server are invalid
 */
export function createRemote(
  options: { baseUrl?: string; apiKeyFile?: string },
  env: Readonly<Record<string, string | undefined>>,
): Remote {
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

/**
 * Ensures that the server is a sandbox: a command for tests must not move money.
 * @throws UsageError if it is not
 */
export async function requireSandbox({ baseUrl: base, send }: Remote): Promise<void> {
  const health = await send<{ environment?: unknown }>("GET", "/healthz");
  if (health.environment !== "sandbox") throw new UsageError(`${base} is no sandbox. Nothing was done.`);
}
