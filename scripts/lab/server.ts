import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { reservePort } from "../../conformance/target/reserve-port.ts";

const MAIN = fileURLToPath(new URL("../../server/main.ts", import.meta.url));
/** Low enough that idle sockets reach it. */
const OPEN_FILES = 512;
const SHUTDOWN_TIMEOUT_MS = 4_000;
/** How long the signal and the end of a process may take on a busy machine. */
const MARGIN_MS = 500;

/** A server process. It keeps its port and its database over restarts. */
export interface ServerUnderTest {
  port: number;
  /** Starts the process unless it runs, without waiting until it listens. */
  launch(): void;
  /** Resolves when the process serves requests. */
  ready(): Promise<void>;
  /** The standard output, to which the process logs. */
  output(): Readable;
  pid(): number;
  kill(): Promise<void>;
  /**
   * Sends SIGTERM. Returns how long the process took to end, in milliseconds.
   * @param codes the exit codes allowed; 1 says that work was left for the next start
   */
  stop(codes?: readonly number[]): Promise<number>;
}

interface Options {
  databaseUrl: string;
  key: string;
  /** Further variables. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Called if the process does not stop in time. */
  violate(what: string): void;
  /** Called if the process ends when nothing ended it. */
  onEnd(why: string): void;
}

export async function prepareServer({
  databaseUrl,
  key,
  env: more,
  violate,
  onEnd,
}: Options): Promise<ServerUnderTest> {
  const port = await reservePort();
  let child: ChildProcess | undefined;
  let ended: Promise<unknown>;
  let expected = false;

  function launch() {
    if (child && child.exitCode === null && child.signalCode === null) return;
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, HOME, NODE_COMPILE_CACHE, PORT: String(port), DATABASE_URL: databaseUrl, SANDBOX_API_KEY: key };
    const limits = {
      SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_TIMEOUT_MS),
      SETTLE_DELAY_MS: "500",
      AUTH_FAILURES_PER_MINUTE: "300",
    };
    const command = ["-c", `ulimit -n ${OPEN_FILES} && exec "$0" "$@"`, process.execPath, MAIN];
    const started = spawn("sh", command, { env: { ...env, ...limits, ...more } });
    started.stdout.resume();
    let errors = "";
    started.stderr.on("data", (chunk) => (errors += String(chunk)));
    started.once("exit", (code, signal) => {
      if (child === started && !expected) onEnd(`the server ended with ${code ?? signal}: ${errors.slice(-1_000)}`);
    });
    child = started;
    expected = false;
    ended = once(started, "exit");
  }

  return {
    port,
    launch,
    async ready() {
      while (!(await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok) await sleep(50);
    },
    output: () => child!.stdout!,
    pid: () => child!.pid!,
    async kill() {
      expected = true;
      child?.kill("SIGKILL");
      await ended;
    },
    async stop(codes = [0]) {
      expected = true;
      const begun = performance.now();
      child!.kill("SIGTERM");
      // A process that ignores the signal must not make the run hang.
      const deadline = setTimeout(() => child!.kill("SIGKILL"), 2 * SHUTDOWN_TIMEOUT_MS);
      await ended;
      clearTimeout(deadline);
      const tookMs = performance.now() - begun;
      if (!codes.includes(child!.exitCode!) || tookMs > SHUTDOWN_TIMEOUT_MS + MARGIN_MS)
        violate(`the server stopped with ${child!.exitCode ?? child!.signalCode} after ${tookMs.toFixed(0)} ms`);
      return tookMs;
    },
  };
}
