// The receiver under test, and the probe that says what it did.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CannotRun } from "../../results.ts";

/** What the receiver did once because of an event. */
export type Effect = {
  /** The event's id (`webhook-id`). */
  id: string;
  /** The payment, as `data.reference` names it. */
  reference?: string;
  merchantsReference?: string;
  /** In the lowest denomination. */
  amount?: number;
};

/** The receiver under test, and what a run may do to it. */
export type Subject = {
  /** Receives webhooks. */
  url: string;
  /** Returns everything that the receiver did so far, one entry for each effect. */
  effects(): Promise<readonly Effect[]>;
  /** Ends the receiver without notice and starts it again; undefined if the run cannot do this. */
  restart?: { kill(): Promise<void>; start(): Promise<void> };
  /** Makes effects fail from `begin` to `end`; undefined if the run cannot do this. */
  outage?: { begin(): Promise<void>; end(): Promise<void> };
};

const largestList = 16 * 1024 * 1024;
const probeTimeoutMs = 10_000;
const wanted =
  'a JSON array such as [{"id": "msg_1", "reference": "DSB1", "merchantsReference": "order-1", "amount": 100}]';

function isEffect(value: unknown): value is Effect {
  return typeof value === "object" && value !== null && typeof (value as Effect).id === "string";
}

/** Parses what a probe printed. @throws CannotRun */
export function parseEffects(source: string, text: string): Effect[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CannotRun(`${source} must give ${wanted}, but gave something that is not JSON.`);
  }
  if (Array.isArray(parsed) && parsed.every(isEffect)) return parsed;
  throw new CannotRun(`${source} must give ${wanted}: one entry for each effect, each with the event's id.`);
}

/** Reads a body, which fetch has decompressed. @throws CannotRun if it is too large */
async function textOf(source: string, { body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > largestList) throw new CannotRun(`${source} responded with more than ${largestList} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Returns a probe that asks a URL. */
export function effectsFromUrl(url: string): Subject["effects"] {
  return async () => {
    const source = "--effects-url";
    try {
      // A redirect could lead the suite to a service that only this machine reaches.
      const signal = AbortSignal.timeout(probeTimeoutMs);
      // The receiver may close an idle connection at the moment when the suite uses it again.
      const options = { signal, redirect: "manual", headers: { connection: "close" } } as const;
      const response = await fetch(url, options);
      if (response.status >= 300 && response.status <= 399)
        throw new CannotRun(
          `${source} responded with a redirect (${response.status}). Give the URL to which it leads.`,
        );
      const text = await textOf(source, response);
      if (response.status !== 200) throw new CannotRun(`${source} responded with ${response.status} instead of 200.`);
      return parseEffects(source, text);
    } catch (error) {
      if (error instanceof CannotRun) throw error;
      const { message, cause } = error as Error;
      throw new CannotRun(`${source} did not respond: ${cause instanceof Error ? cause.message : message}`);
    }
  };
}

const execute = promisify(execFile);

/** Returns a probe that runs a shell command. */
export function effectsFromCommand(command: string, env: NodeJS.ProcessEnv): Subject["effects"] {
  return async () => {
    try {
      const options = { env, timeout: probeTimeoutMs, maxBuffer: largestList };
      const { stdout } = await execute("/bin/sh", ["-c", command], options);
      return parseEffects("--effects-command", stdout);
    } catch (error) {
      if (error instanceof CannotRun) throw error;
      const { stderr = "", message } = error as Error & { stderr?: string };
      const why = (stderr.trim() || message).slice(0, 500);
      throw new CannotRun(`--effects-command failed: ${why}`);
    }
  };
}
