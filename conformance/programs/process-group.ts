// Starts shell commands, each in a process group of its own, so that what it starts can be ended with it.
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts a command with the variables of the suite, without proxies, and further variables. */
export function startGroup(command: string, variables: NodeJS.ProcessEnv) {
  const env = {
    // A run starts a program often. Programs in Node.js start faster with the code that they compiled before.
    NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
    ...process.env,
    ...variables,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
  const child = spawn(command, { shell: true, detached: true, env });
  const { promise: ended, resolve } = Promise.withResolvers<{ code: number | null; failure?: string }>();
  child.on("error", ({ message }) => resolve({ code: null, failure: message }));
  child.on("close", (code) => resolve({ code }));
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // The group has ended already.
    }
  };
  return { child, ended, signal };
}
