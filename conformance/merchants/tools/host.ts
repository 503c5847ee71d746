// The host of a run: it starts a server of tools, or reaches a running server over HTTP, with the official client of
// the protocol.
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator, Transport } from "@modelcontextprotocol/client";
import { CannotRun } from "../../results.ts";
import { startGroup } from "../client/launch.ts";
import type { Environment as ClientEnvironment } from "../client/protocol.ts";
import { reservePort } from "../../target/reserve-port.ts";
import { addressOf, isListening } from "../receiver/process.ts";
import type { Returned } from "./map.ts";

/** The environment variables that a server of tools gets. */
export type Environment = ClientEnvironment & {
  /** A file with the key that only its owner can read. */
  API_KEY_FILE: string;
  /** The same as STATE_DIR. */
  JOURNAL: string;
  /** A free port, for a server that listens. */
  PORT: string;
};

export type Tool = {
  name: string;
  description?: string | undefined;
  inputSchema: object;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
};

/** The result of a call, or the reason why there is no result. */
export type Answer = Returned | { lost: string };

/** A connection of a host to a server of tools. */
export type Session = {
  tools: readonly Tool[];
  call(name: string, args: Record<string, unknown>): Promise<Answer>;
  /** Ends the server at once, if the session started it, and loses the calls that it has not answered. */
  kill(): Promise<void>;
  /** What the server wrote beside its results. */
  log(): string;
};

export type Open = (environment: Environment) => Promise<Session>;

const startMs = 30_000;
const longestLog = 1_000_000;

/** Loads the client, which is an optional dependency because of its size. @throws CannotRun */
async function loadClient() {
  try {
    const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
    return { ...(await import("@modelcontextprotocol/client")), AjvJsonSchemaValidator };
  } catch {
    throw new CannotRun(
      "@modelcontextprotocol/client is not installed, because npm left out optional dependencies, and certify tools needs " +
        "it to call tools. Nothing was judged. Run npm install --include=optional.",
    );
  }
}

type Sdk = Awaited<ReturnType<typeof loadClient>>;

/** Connects standard input and output of a command to the client. The SDK's own transport kills no process group. */
function stdio({ ReadBuffer, serializeMessage }: Sdk, { child, kill }: ReturnType<typeof startGroup>): Transport {
  const buffer = new ReadBuffer();
  const transport: Transport = {
    async start() {
      child.stdin.on("error", () => undefined);
      child.stdout.on("data", (chunk: Buffer) => {
        buffer.append(chunk);
        for (;;) {
          try {
            const message = buffer.readMessage();
            if (message === null) return;
            transport.onmessage?.(message);
          } catch (error) {
            transport.onerror?.(error as Error);
          }
        }
      });
      child.on("close", () => transport.onclose?.());
    },
    async send(message) {
      child.stdin.write(serializeMessage(message));
    },
    async close() {
      kill();
    },
  };
  return transport;
}

/** Validates results by the tools' schemas. A run opens about 160 sessions, and compiles each schema once. */
function createValidators({ AjvJsonSchemaValidator }: Sdk): jsonSchemaValidator {
  const validators = new Map<string, JsonSchemaValidator<unknown>>();
  return {
    getValidator<T>(schema: JsonSchemaType) {
      const text = JSON.stringify(schema);
      const validator = validators.get(text) ?? new AjvJsonSchemaValidator().getValidator(schema);
      validators.set(text, validator);
      return validator as JsonSchemaValidator<T>;
    },
  };
}

/** Waits until a server that was started listens. @throws CannotRun */
async function untilListening(url: string, hasEnded: () => boolean, log: () => string) {
  const address = addressOf(url);
  for (const end = performance.now() + startMs; !(await isListening(address)); await sleep(20)) {
    if (hasEnded() || performance.now() > end) {
      throw new CannotRun(`The server of tools does not listen at ${url}. It printed: ${log().slice(-500)}`);
    }
  }
}

type Target = {
  /** The shell command that starts the server; undefined if a person has started it. */
  command?: string | undefined;
  /** The server's URL, in which `$PORT` is the environment variable; undefined for standard input and output. */
  url?: string | undefined;
  /** The bearer token of requests over HTTP. */
  token?: string | undefined;
  /** How long a call may take, in ms. */
  limitMs: number;
};

/** Returns a function that opens sessions. @throws CannotRun if the server cannot be started or reached */
export function opener({ command, url, token, limitMs }: Target): Open {
  let validators: jsonSchemaValidator | undefined;
  return async (environment) => {
    const sdk = await loadClient();
    validators ??= createValidators(sdk);
    const PORT = url === undefined ? "" : String(await reservePort());
    const started = command === undefined ? undefined : startGroup(command, { ...environment, PORT });
    let written = "";
    const note = (chunk: Buffer) => void (written = (written + chunk.toString()).slice(-longestLog));
    const log = () => written;
    const { child } = started ?? {};
    child?.stderr.on("data", note);
    const closed = child && new Promise<void>((resolve) => child.once("close", () => resolve()));
    const client = new sdk.Client(
      { name: "certify tools", version: "1" },
      {
        capabilities: { elicitation: {} },
        jsonSchemaValidator: validators,
      },
    );
    // A host that confirms everything, as a person in a hurry does. An approval must not depend on this confirmation.
    client.setRequestHandler("elicitation/create", () => ({
      action: "accept",
      content: { approved: true, confirm: true },
    }));
    const kill = async () => {
      started?.kill();
      await closed;
      await client.close().catch(() => undefined);
    };
    try {
      if (url === undefined) await client.connect(stdio(sdk, started!), { timeout: startMs });
      else {
        const address = url.replace("$PORT", PORT);
        child?.stdout.on("data", note);
        if (child) await untilListening(address, () => child.exitCode !== null, log);
        const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
        await client.connect(new sdk.StreamableHTTPClientTransport(new URL(address), { requestInit }));
      }
      const { tools } = await client.listTools();
      return {
        tools: tools as readonly Tool[],
        async call(name, args) {
          const result = client.callTool({ name, arguments: args }, { timeout: limitMs }).then(
            ({ content, structuredContent: structured, isError = false }): Answer => ({
              isError,
              texts: content.flatMap((each) => (each.type === "text" ? [each.text] : [])),
              ...(structured === undefined ? {} : { structured }),
            }),
            (error: unknown): Answer =>
              // An error of the protocol is a result that a model sees. Any other error means that no result came.
              error instanceof sdk.ProtocolError
                ? { isError: true, texts: [error.message] }
                : { lost: (error as Error).message },
          );
          const death = closed?.then((): Answer => ({ lost: "the server has ended" }));
          return Promise.race([result, ...(death ? [death] : [])]);
        },
        kill,
        log,
      };
    } catch (error) {
      await kill();
      if (error instanceof CannotRun) throw error;
      throw new CannotRun(
        `The server of tools could not be started: ${(error as Error).message} ${written.trim().slice(-500)}. ` +
          "Check --command and --url; nothing was judged.",
      );
    }
  };
}
