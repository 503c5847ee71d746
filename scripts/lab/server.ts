import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { reservePort } from "../../conformance/target/reserve-port.ts";

const MAIN = fileURLToPath(new URL("../../server/main.ts", import.meta.url));
/** Low enough that idle sockets reach it. */
const OPEN_FILES = 512;
const SHUTDOWN_TIMEOUT_MS = 4_000;
/** How long the signal and the end of a process may take on a busy machine. */
const MARGIN_MS = 500;
/** The message of a process that ends because it was started while the database was unavailable. */
const NO_DATABASE = /Cannot open the PostgreSQL database|The database stopped working during the start/;
/** The delay before such a process is started again. */
const START_AGAIN_MS = 500;

export type ServerUnderTest = Awaited<ReturnType<typeof prepareServer>>;

interface Options {
  /** The variables of the process. */
  env: Readonly<Record<string, string>>;
  /** The exit codes of a process that is stopped; 1 says that work was left for the next start. */
  exitCodes?: readonly number[];
  /** Called if the process ends by itself, or does not stop in time. */
  violate(what: string): void;
}

/** Prepares a server process, which keeps its port and its database over restarts. */
export async function prepareServer({ env: given, exitCodes = [0], violate }: Options) {
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const env = {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    PORT: String(port),
    SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_TIMEOUT_MS),
    SETTLE_DELAY_MS: "500",
    AUTH_FAILURES_PER_MINUTE: "300",
    ...given,
  };
  const command = ["-c", `ulimit -n ${OPEN_FILES} && exec "$0" "$@"`, process.execPath, MAIN];
  let child: ChildProcess | undefined;
  let ended: Promise<unknown>;
  /** True while the process is expected to end. */
  let isEnding = false;

  function launch() {
    if (child && child.exitCode === null && child.signalCode === null) return;
    const started = spawn("sh", command, { env });
    started.stdout.resume();
    let errors = "";
    started.stderr.on("data", (chunk) => (errors += String(chunk)));
    started.once("exit", (code, signal) => {
      if (child !== started || isEnding) return;
      if (!NO_DATABASE.test(errors)) violate(`the server ended with ${code ?? signal}: ${errors.slice(-1_000)}`);
      setTimeout(() => isEnding || launch(), START_AGAIN_MS);
    });
    child = started;
    isEnding = false;
    ended = once(started, "exit");
  }

  async function ready() {
    while (!(await fetch(`${url}/readyz`).catch(() => undefined))?.ok) await sleep(50);
  }

  async function kill() {
    isEnding = true;
    child?.kill("SIGKILL");
    await ended;
  }

  return {
    port,
    url,
    /** Starts the process unless it runs, without waiting until it listens. */
    launch,
    /** Resolves when the process serves requests. */
    ready,
    pid: () => child!.pid!,
    /** The standard output, to which the process logs. */
    log: () => child!.stdout!,
    kill,
    /** Kills the process and starts it again. Resolves when it serves requests. */
    async crash() {
      await kill();
      launch();
      await ready();
    },
    /** Sends SIGTERM. Returns how long the process took to end, in milliseconds. */
    async stop(): Promise<number> {
      isEnding = true;
      const begun = performance.now();
      child!.kill("SIGTERM");
      // A process that ignores the signal must not make the run hang.
      const deadline = setTimeout(() => child!.kill("SIGKILL"), 2 * SHUTDOWN_TIMEOUT_MS);
      await ended;
      clearTimeout(deadline);
      const tookMs = performance.now() - begun;
      if (!exitCodes.includes(child!.exitCode!) || tookMs > SHUTDOWN_TIMEOUT_MS + MARGIN_MS)
        violate(`the server stopped with ${child!.exitCode ?? child!.signalCode} after ${tookMs.toFixed(0)} ms`);
      return tookMs;
    },
  };
}
