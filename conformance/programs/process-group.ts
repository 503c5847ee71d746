// Starts shell commands, each in its own process group, so that ending a command also ends the processes it started.
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "./client/protocol.ts";

/** How a program ended, and what it wrote. */
export type Ended = { code: number | null; stdout: string; stderr: string };

/** Starts a client with an environment and the text of its input. `kill` ends it at once, with what it started. */
export type Launch = (environment: Environment, input: string) => { ended: Promise<Ended>; kill(): void };

/** The longest output that is kept of each stream, in characters. */
const longestOutput = 4_000_000;

/** Starts a shell command with the variables of the suite, without proxies, and further variables. */
export function startGroup(command: string, variables: NodeJS.ProcessEnv, input = "") {
  const env = {
    // A run starts a program often. Programs in Node.js start faster with the code that they compiled before.
    NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
    ...process.env,
    ...variables,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
  const child = spawn(command, { shell: true, detached: true, env });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      if (output[name].length < longestOutput) output[name] += text;
    });
  }
  // Writing fails if the program ends without reading its input.
  child.stdin.on("error", () => undefined).end(input);
  const ended = new Promise<Ended>((resolve) => {
    child.on("error", ({ message }) => resolve({ code: null, ...output, stderr: message }));
    child.on("close", (code) => resolve({ code, ...output }));
  });
  return {
    output,
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** Sends a signal to the whole group. */
    kill(signal: NodeJS.Signals = "SIGKILL") {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // The group has ended already.
      }
    },
  };
}
