// What a test uses only for itself. It ends with the test, also if the test or its `beforeEach` fails.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startProcess, type ServerProcess } from "./process.ts";

/** Makes an empty folder. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Starts a server as `startProcess` does. */
export async function testProcess(...how: Parameters<typeof startProcess>): Promise<ServerProcess> {
  const server = await startProcess(...how);
  onTestFinished(async () => {
    server.kill("SIGKILL");
    await server.ended;
  });
  return server;
}

/** Stops a server, which must end by itself. */
export async function stop({ kill, ended }: ServerProcess) {
  kill("SIGTERM");
  const { code, ...printed } = await ended;
  if (code !== 0) throw new Error(`The server ended with ${code}: ${printed.stderr}`);
  return printed;
}
