// Starts a client under test as a program.
import { startGroup } from "../process-group.ts";
import type { Environment } from "./protocol.ts";

/** How a program ended, and what it wrote. */
export type Ended = { code: number | null; stdout: string; stderr: string };

/** Starts a client with an environment and the text of its input. `kill` ends it at once, with what it started. */
export type Launch = (environment: Environment, input: string) => { ended: Promise<Ended>; kill(): void };

/** The longest output that is kept of each stream, in characters. */
const longestOutput = 4_000_000;

/**
 * Returns a function that starts a program.
 * @param command a command line for the shell
 */
export function launcher(command: string): Launch {
  return (environment, input) => {
    const { child, ended, signal } = startGroup(command, environment);
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (output[name].length < longestOutput) output[name] += text;
      });
    }
    // A program that does not read its input closes it.
    child.stdin.on("error", () => undefined).end(input);
    return {
      ended: ended.then(({ code, failure = output.stderr }) => ({ code, ...output, stderr: failure })),
      kill: () => signal("SIGKILL"),
    };
  };
}
