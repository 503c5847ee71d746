// The receiver under test: the probe that says what it did, the command that starts it, which a run can kill, and the command
// that makes its effects fail.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { CannotRun } from "../../results.ts";
import { startGroup } from "../process-group.ts";

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
  restart?: { kill(): Promise<void>; start(): Promise<void> } | undefined;
  /** Makes effects fail from `begin` to `end`; undefined if the run cannot do this. */
  outage?: { begin(): Promise<void>; end(): Promise<void> } | undefined;
};

const largestList = 16 * 1024 * 1024;
const probeTimeoutMs = 10_000;
const effectsForm =
  'a JSON array such as [{"id": "msg_1", "reference": "DSB1", "merchantsReference": "order-1", "amount": 100}]';

function isEffect(value: unknown): value is Effect {
  return typeof value === "object" && value !== null && typeof (value as Effect).id === "string";
}

/** Returns a probe. `read` gets the text, and `problemOf` describes an unexpected error of it. */
function probeOf(source: string, read: () => Promise<string>, problemOf: (error: Error) => string): Subject["effects"] {
  return async () => {
    const text = await read().catch((error: Error) => {
      throw error instanceof CannotRun ? error : new CannotRun(`${source} ${problemOf(error)}`);
    });
    try {
      const parsed: unknown = JSON.parse(text);
      if (Array.isArray(parsed) && parsed.every(isEffect)) return parsed;
    } catch {
      // A text that is not JSON is refused below.
    }
    throw new CannotRun(`${source} must give ${effectsForm}: one entry for each effect, each with the event's id.`);
  };
}

/** Returns a probe that asks a URL. */
export function effectsFromUrl(url: string): Subject["effects"] {
  const source = "--effects-url";
  async function read() {
    const signal = AbortSignal.timeout(probeTimeoutMs);
    // A redirect could lead the suite to a service that only this machine reaches. A connection is not used again,
    // because the receiver may be closing it.
    const response = await fetch(url, { signal, redirect: "manual", headers: { connection: "close" } });
    const { status } = response;
    if (status >= 300 && status <= 399)
      throw new CannotRun(`${source} responded with a redirect (${status}). Give the URL to which it leads.`);
    if (status !== 200) throw new CannotRun(`${source} responded with ${status} instead of 200.`);
    return response.text();
  }
  return probeOf(source, read, ({ message, cause }) => {
    return `did not respond: ${cause instanceof Error ? cause.message : message}`;
  });
}

/** Returns a probe that runs a shell command. */
export function effectsFromCommand(command: string, env: NodeJS.ProcessEnv): Subject["effects"] {
  const options = { env, timeout: probeTimeoutMs, maxBuffer: largestList };
  return probeOf(
    "--effects-command",
    async () => (await promisify(execFile)("/bin/sh", ["-c", command], options)).stdout,
    ({ stderr = "", message }: Error & { stderr?: string }) =>
      `failed: ${(stderr.trim() || message).slice(0, quotedLength)}`,
  );
}

const startMs = 30_000;
const stopMs = 5000;
const pollMs = 20;
/** How much of a command's output an error message quotes, in characters. */
const quotedLength = 500;

type Address = { host: string; port: number };

function addressOf(url: string): Address {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

function isListening(address: Address): Promise<boolean> {
  const socket = connect(address);
  const connected = once(socket, "connect").then(
    () => true,
    () => false,
  );
  return connected.finally(() => socket.destroy());
}

type Started = ReturnType<typeof startGroup>;

/** Ends a command. Kills it if the signal does not end it in time. */
async function stop(started: Started | undefined, name: NodeJS.Signals) {
  started?.kill(name);
  if (name !== "SIGKILL") await Promise.race([started?.ended, sleep(stopMs)]);
  started?.kill();
  await started?.ended;
}

/** Waits for a condition. @throws CannotRun with a text that begins with `what` if the command ends or takes too long */
async function until({ output, isRunning }: Started, holds: () => Promise<boolean>, what: string) {
  const end = performance.now() + startMs;
  while (!(await holds())) {
    const printed = output.stderr.trim().slice(-quotedLength);
    const why = printed === "" ? "" : ` It printed: ${printed}`;
    if (!isRunning()) throw new CannotRun(`${what} has ended.${why}`);
    if (performance.now() > end) throw new CannotRun(`${what} did not do so within ${startMs / 1000} s.${why}`);
    await sleep(pollMs);
  }
}

/** Starts a receiver and returns the functions with which a run controls it. */
export async function startSubject(
  command: string,
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<NonNullable<Subject["restart"]>> {
  const address = addressOf(url);
  if (await isListening(address)) {
    throw new CannotRun(`Something listens at ${url} already. Stop it, because --command starts the receiver itself.`);
  }
  let running: Started | undefined;
  const restart = {
    async start() {
      running = startGroup(command, { ...env, PORT: String(address.port) });
      await until(running, () => isListening(address), `The receiver of --command must listen at ${url} (PORT), but`);
    },
    async kill() {
      await stop(running, "SIGKILL");
      // The socket of a killed process can accept a connection for a moment, and would be taken for the socket of the
      // next start.
      const end = performance.now() + startMs;
      while ((await isListening(address)) && performance.now() < end) await sleep(pollMs);
    },
  };
  await restart.start().catch(async (error: unknown) => {
    await restart.kill();
    throw error;
  });
  return restart;
}

/** Returns an outage that lasts as long as a command runs. */
export function outageOf(command: string, env: NodeJS.ProcessEnv): NonNullable<Subject["outage"]> {
  let running: Started | undefined;
  return {
    async begin() {
      const started = startGroup(command, env);
      running = started;
      const what = "--outage-command must print a line once effects fail and run until it is stopped, but";
      await until(started, async () => started.output.stdout !== "", what);
    },
    end: () => stop(running, "SIGTERM"),
  };
}
