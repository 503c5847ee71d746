// Starts the servers that the client is tested against: the reference server and the Prism mock.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Running {
  baseUrl: string;
  stop(): Promise<void>;
}

/** Starts a program and waits until it prints the address it listens on. */
async function start(args: string[], env: NodeJS.ProcessEnv, address: RegExp): Promise<[string, ChildProcess]> {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: "pipe" });
  let output = "";
  const baseUrl = await new Promise<string>((resolve, reject) => {
    const read = (chunk: unknown) => {
      output += String(chunk);
      const found = address.exec(output)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`${args[0]} ended with ${code}:\n${output}`)));
  });
  return [baseUrl, child];
}

async function stop(child: ChildProcess) {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Starts the reference server on a free port. Its temporary database is removed when it stops. */
export async function startServer(apiKey: string, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "client-server-"));
  const settings = {
    HOST: "127.0.0.1",
    PORT: "0",
    DATABASE_URL: `sqlite:${join(folder, "records.db")}`,
    SANDBOX_API_KEY: apiKey,
    LOG_LEVEL: "fatal",
    NO_COLOR: "1",
  };
  const [baseUrl, child] = await start(["server/main.ts"], { ...settings, ...env }, /(http:\/\/127\.0\.0\.1:\d+)\n/);
  return {
    baseUrl,
    async stop() {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts Prism with the arguments of `npm run mock`, but on a free port. */
export async function startMock(command: string): Promise<Running> {
  const [program, ...args] = command.split(" ");
  if (program !== "prism") throw new Error(`npm run mock must start prism, but starts ${program}.`);
  const entry = fileURLToPath(import.meta.resolve("@stoplight/prism-cli"));
  if (args.includes("--port"))
    throw new Error("npm run mock must not set --port, because the tests choose a free port.");
  const [baseUrl, child] = await start([entry, ...args, "--port", "0"], {}, /listening on (http:\/\/127\.0\.0\.1:\d+)/);
  return { baseUrl, stop: () => stop(child) };
}
