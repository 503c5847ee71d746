// Starts the receiver under test, kills it and starts it again; and runs the command that makes its effects fail.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { CannotRun } from "../../results.ts";
import type { Subject } from "./subject.ts";

const startMs = 30_000;
const stopMs = 5000;
const pollMs = 20;
/** How much of a command's output an error message quotes, in characters. */
const quotedLength = 500;

type Address = { host: string; port: number };

export function addressOf(url: string): Address {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

export async function isListening({ host, port }: Address): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** Sends a signal to the process group of a command. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/** Starts a shell command in a process group of its own, and keeps the end of what it prints to stderr. */
function start(command: string, env: NodeJS.ProcessEnv) {
  const child = spawn("/bin/sh", ["-c", command], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => void (errors = (errors + chunk.toString()).slice(-quotedLength)));
  const ended = once(child, "close").catch(() => undefined);
  return {
    child,
    errors: () => errors.trim(),
    /** Ends the group. Kills it if the signal does not end it in time. */
    async stop(signal: NodeJS.Signals) {
      signalGroup(child, signal);
      if (signal !== "SIGKILL") await Promise.race([ended, sleep(stopMs)]);
      signalGroup(child, "SIGKILL");
      await ended;
    },
  };
}

/** Waits until the condition holds. @throws CannotRun if the command ends before, or the time is over */
async function until(started: ReturnType<typeof start>, holds: () => Promise<boolean>, what: string) {
  const end = performance.now() + startMs;
  while (!(await holds())) {
    const why = started.errors() === "" ? "" : ` It printed: ${started.errors()}`;
    if (hasEnded(started.child)) throw new CannotRun(`${what} has ended.${why}`);
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
  let running: ReturnType<typeof start> | undefined;
  const restart = {
    async start() {
      running = start(command, { ...env, PORT: String(address.port) });
      await until(running, () => isListening(address), `The receiver of --command must listen at ${url} (PORT), but`);
    },
    async kill() {
      await running?.stop("SIGKILL");
      // The socket of a killed process can accept a connection for a moment, and would be taken for the socket of the
      // next start.
      const end = performance.now() + startMs;
      while ((await isListening(address)) && performance.now() < end) await sleep(pollMs);
    },
  };
  try {
    await restart.start();
  } catch (error) {
    await restart.kill();
    throw error;
  }
  return restart;
}

/** Returns an outage that lasts as long as a command runs. */
export function outageOf(command: string, env: NodeJS.ProcessEnv): NonNullable<Subject["outage"]> {
  let running: ReturnType<typeof start> | undefined;
  return {
    async begin() {
      running = start(command, env);
      let hasPrinted = false;
      running.child.stdout.once("data", () => (hasPrinted = true));
      const what = "--outage-command must print a line once effects fail and run until it is stopped, but";
      await until(running, async () => hasPrinted, what);
    },
    end: async () => running?.stop("SIGTERM"),
  };
}
