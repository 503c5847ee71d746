import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createHttpClient } from "./http.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const cli = fileURLToPath(new URL("../cli.ts", import.meta.url));

/** The variables of a live server. Payments over its rail succeed immediately, and need no balance. */
export const LIVE = {
  SANDBOX: "false",
  BALANCES: "tracked",
  RAILS: fileURLToPath(new URL("rails.yaml", import.meta.url)),
};

export interface Ended {
  /** The exit code, or the signal that ended the process. */
  code: number | NodeJS.Signals;
  stdout: string;
  stderr: string;
}

/** Limits of the operating system for a process. */
export interface Limits {
  /** The most open file descriptors. */
  openFiles?: number;
  /** The largest size of a file, in blocks of 512 bytes. The operating system refuses writes beyond it. */
  fileBlocks?: number;
}

/** How long a program may take to print what a test waits for. */
const PATIENCE_MS = 20_000;

/**
 * Starts a program. `ended` resolves when it has ended, and every program that it has started, because they share its pipes.
 * `until` resolves when it has printed such a text, with the match.
 */
export function startProgram(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd?: string) {
  // Pass only these variables, so that the environment cannot influence a test. The cache halves a start.
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(file, args, { cwd, env: { PATH, HOME, NODE_COMPILE_CACHE, ...env } });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) child[name].on("data", (chunk) => (printed[name] += String(chunk)));
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code: signal ?? code, ...printed }));
  const output = () => printed.stdout + printed.stderr;
  async function until(text: RegExp): Promise<RegExpExecArray> {
    const giveUp = Date.now() + PATIENCE_MS;
    for (let match; ; await sleep(10)) {
      if ((match = text.exec(output()))) return match;
      if (child.exitCode !== null || Date.now() > giveUp)
        throw new Error(`${file} has not printed ${text}: ${output()}`);
    }
  }
  return { child, kill: (signal: NodeJS.Signals) => void child.kill(signal), printed, output, ended, until };
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv, { openFiles, fileBlocks }: Limits = {}) {
  const command = [process.execPath, script, ...args];
  const limits = [openFiles && `ulimit -n ${openFiles}`, fileBlocks && `ulimit -f ${fileBlocks}`].filter(Boolean);
  const limited = ["sh", "-c", [...limits, 'exec "$0" "$@"'].join(" && "), ...command];
  const [file, ...given] = limits.length === 0 ? command : limited;
  return startProgram(file!, given, env);
}

/** The key of the first merchant of a server that a test starts. */
export const KEY = "a-key-for-tests-of-processes";

export type ServerProcess = Awaited<ReturnType<typeof startProcess>>;

/** Runs `node server/main.ts` on a free port until its banner is printed. Rejects if it ends before that. */
export async function startProcess(env: NodeJS.ProcessEnv, limits?: Limits) {
  const { child, kill, output, ended, until } = run(main, [], { PORT: "0", LOG_LEVEL: "fatal", ...env }, limits);
  // The banner of every server has this line; a sandbox's ends with a curl command.
  const port = Number((await until(/http:\/\/127\.0\.0\.1:(\d+)[^]* \(WEBHOOK_ALLOW_PRIVATE\)\.\n/))[1]);
  const client = (key: string) => createHttpClient({ port, key, sandbox: env.SANDBOX !== "false" });
  return {
    ...client(env.SANDBOX_API_KEY ?? ""),
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    /** Everything printed so far. */
    output,
    /** A client with this key that checks every response against the contract. */
    client,
    kill,
    /** Resolves when the process has ended. */
    ended,
  };
}

/** Runs `node server/main.ts` without waiting until it listens. */
export const launchServer = (env: NodeJS.ProcessEnv) => run(main, [], { PORT: "0", ...env });

/** Runs `node server/main.ts` and waits until it exits by itself. */
export const runServer = (env: NodeJS.ProcessEnv, limits: Limits = {}, ...args: string[]): Promise<Ended> =>
  run(main, args, { PORT: "0", ...env }, limits).ended;

/** Runs `disbursement-checkout ARGS` in a process of its own. */
export const runCommandProcess = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> =>
  run(cli, args, env).ended;

/** Runs `disbursement-checkout ARGS` in this process, because most of the time of a separate process is its start. */
export async function runCommand(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> {
  // Most tests that start processes need no command, whose modules are the whole server's.
  const { runCommandLine } = await import("../command-line.ts");
  const printed = { stdout: "", stderr: "" };
  const code = await runCommandLine(args, env, {
    log: (text: string) => void (printed.stdout += `${text}\n`),
    error: (text: string) => void (printed.stderr += `${text}\n`),
  });
  return { code: code ?? 0, ...printed };
}

/** Runs `npm run keys -- ARGS`. */
export const runKeys = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> => runCommand(env, "keys", ...args);
