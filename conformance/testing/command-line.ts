// Runs `certify` as a child process.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "../results.ts";

const { PATH, NODE_COMPILE_CACHE } = process.env;
/** Only these variables, so that the environment cannot influence a test. The cache halves the time of a start. */
export const BARE_ENVIRONMENT = { PATH, NODE_COMPILE_CACHE };

export type CertifyResult = { code: number | null; output: string; report: Report | undefined };

/**
 * Runs `certify` against a target and returns its exit code, output and report.
 * @param args additional arguments
 */
export async function runCertify(url: string, key: string, args: readonly string[]): Promise<CertifyResult> {
  const folder = await mkdtemp(join(tmpdir(), "certify-broken-"));
  try {
    const all = [join(import.meta.dirname, "../certify.ts"), "--base-url", url, "--report", folder, ...args];
    const child = spawn(process.execPath, all, { env: { ...BARE_ENVIRONMENT, API_KEY: key } });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    const text = await readFile(join(folder, "report.json"), "utf8").catch(() => undefined);
    return { code, output, report: text === undefined ? undefined : (JSON.parse(text) as Report) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
