// Starts the servers that the client is tested against: the reference server and the Prism mock.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startProcess } from "../../server/testing/process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Running {
  baseUrl: string;
  stop(): Promise<void>;
}

/** Starts the reference server on a free port. Its temporary database is removed when it stops. */
export async function startServer(apiKey: string, env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "client-server-"));
  const settings = { DATABASE_URL: `sqlite:${join(folder, "records.db")}`, SANDBOX_API_KEY: apiKey };
  const { url, kill, ended } = await startProcess({ ...settings, ...env });
  return {
    baseUrl: url,
    async stop() {
      kill("SIGKILL");
      await ended;
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
  const child = spawn(process.execPath, [entry, ...args, "--port", "0"], { cwd: root, stdio: "pipe" });
  let output = "";
  const baseUrl = await new Promise<string>((resolve, reject) => {
    const read = (chunk: unknown) => {
      output += String(chunk);
      const found = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => reject(new Error(`Prism ended with ${code}:\n${output}`)));
  });
  return {
    baseUrl,
    async stop() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
