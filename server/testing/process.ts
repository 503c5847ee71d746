import { spawn } from "node:child_process";
import { once } from "node:events";
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
  /** The exit code; null if a signal ended the process. */
  code: number | null;
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

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv, { openFiles, fileBlocks }: Limits = {}) {
  // Pass only these variables, so that the environment cannot influence a test. The cache halves a start.
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const command = [process.execPath, script, ...args];
  const limits = [openFiles && `ulimit -n ${openFiles}`, fileBlocks && `ulimit -f ${fileBlocks}`].filter(Boolean);
  const limited = ["sh", "-c", [...limits, 'exec "$0" "$@"'].join(" && "), ...command];
  const [file, ...given] = limits.length === 0 ? command : limited;
  const child = spawn(file!, given, { env: { PATH, HOME, NODE_COMPILE_CACHE, ...env } });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (printed.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (printed.stderr += String(chunk)));
  const ended = once(child, "close").then(([code]): Ended => ({ code: code as number | null, ...printed }));
  return { child, printed, ended };
}

/** The key of the first merchant of a server that a test starts. */
export const KEY = "a-key-for-tests-of-processes";

export type ServerProcess = Awaited<ReturnType<typeof startProcess>>;

/** Runs `node server/main.ts` on a free port until its banner is printed. Rejects if it ends before that. */
export async function startProcess(env: NodeJS.ProcessEnv, limits?: Limits) {
  const { child, printed, ended } = run(main, [], { PORT: "0", LOG_LEVEL: "fatal", ...env }, limits);
  const listening = new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      // The banner of every server has this line; a sandbox's ends with a curl command.
      const [, port] = /http:\/\/127\.0\.0\.1:(\d+)[^]* \(WEBHOOK_ALLOW_PRIVATE\)\.\n/.exec(printed.stdout) ?? [];
      if (port) resolve(port);
    });
  });
  const failed = ended.then(({ stderr }) => Promise.reject(new Error(`The server did not start: ${stderr}`)));
  const port = Number(await Promise.race([listening, failed]));
  failed.catch(() => undefined);
  const client = (key: string) => createHttpClient({ port, key, sandbox: env.SANDBOX !== "false" });
  return {
    ...client(env.SANDBOX_API_KEY ?? ""),
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    /** Everything printed so far. */
    output: () => printed.stdout + printed.stderr,
    /** A client with this key that checks every response against the contract. */
    client,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Resolves when the process has ended. */
    ended,
  };
}

/** Runs `node server/main.ts` without waiting until it listens. */
export function launchServer(env: NodeJS.ProcessEnv): Pick<ServerProcess, "output" | "kill" | "ended"> {
  const { child, printed, ended } = run(main, [], { PORT: "0", ...env });
  return { output: () => printed.stdout + printed.stderr, kill: (signal) => void child.kill(signal), ended };
}

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
  return { code: code ?? null, ...printed };
}

/** Runs `npm run keys -- ARGS`. */
export const runKeys = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> => runCommand(env, "keys", ...args);
