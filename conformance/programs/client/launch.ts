// Starts a client under test as a program.
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./protocol.ts";

/** How a program ended, and what it wrote. */
export type Ended = { code: number | null; stdout: string; stderr: string };

export type Running = {
  ended: Promise<Ended>;
  /** Ends the program at once, together with what it started. */
  kill(): void;
};

/** Starts a client with an environment and the text of its input. */
export type Launch = (environment: Environment, input: string) => Running;

/** The longest output that is kept of each stream, in characters. */
const longestOutput = 4_000_000;

/**
 * The environment of a program that a run starts: the variables of the suite without proxies, and the variables for the
 * program.
 */
export const environmentFor = (environment: Readonly<Record<string, string>>) => ({
  // A run starts the program about 150 times. Programs in Node.js start faster with the code that they compiled before.
  NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
  ...process.env,
  ...environment,
  NO_PROXY: "127.0.0.1",
  no_proxy: "127.0.0.1",
});

/** Starts a shell command in a process group of its own, so that what it starts can be killed with it. */
export function startGroup(command: string, environment: Readonly<Record<string, string>>) {
  const child = spawn(command, { shell: true, detached: true, env: environmentFor(environment) });
  const kill = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };
  return { child, kill };
}

/**
 * Returns a function that starts a program.
 * @param command a command line for the shell
 */
export function launcher(command: string): Launch {
  return (environment, input) => {
    const { child, kill } = startGroup(command, environment);
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (output[name].length < longestOutput) output[name] += text;
      });
    }
    // A program that does not read its input closes it.
    child.stdin.on("error", () => undefined).end(input);
    const ended = new Promise<Ended>((resolve) => {
      child.on("error", (error) => resolve({ code: null, ...output, stderr: error.message }));
      child.on("close", (code) => resolve({ code, ...output }));
    });
    return { ended, kill };
  };
}
