// Runs `certify` as a child process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Report } from "../results.ts";

const { PATH, NODE_COMPILE_CACHE } = process.env;
/**
 * Only these variables, so that the environment cannot influence a test. The compile cache halves the time of a start.
 */
export const BARE_ENVIRONMENT = { PATH, NODE_COMPILE_CACHE };

const main = join(import.meta.dirname, "../certify.ts");

type Start = {
  /** Further variables, such as the keys. */
  env: Record<string, string>;
  /** Options of Node. */
  node?: readonly string[];
  /** Called during the run with the output so far. */
  onOutput?: ((text: string) => void) | undefined;
};

/** Starts `certify` in a process of its own. */
export function startCertify(args: readonly string[], { env, node = [], onOutput }: Start) {
  const child = spawn(process.execPath, [...node, main, ...args], { env: { ...BARE_ENVIRONMENT, ...env } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      onOutput?.(output);
    });
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, output }));
  return { child, ended };
}

/** Reads the report in a folder; undefined if there is no report. */
export async function reportIn(folder: string): Promise<Report | undefined> {
  const text = await readFile(join(folder, "report.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Report);
}

const textOf = (name: string, content: Buffer) => String(name.endsWith(".gz") ? gunzipSync(content) : content);

/**
 * Runs `certify` against a target. Returns its exit code, its output, its report and the text of each file that it wrote.
 * @param args additional arguments
 * @param during called during the run with the process and the output so far
 */
export async function runCertify(
  { url, key }: { url: string; key: string },
  args: readonly string[],
  env: Record<string, string> = {},
  during: (child: ReturnType<typeof startCertify>["child"], output: string) => void = () => undefined,
) {
  const folder = await mkdtemp(join(tmpdir(), "certify-run-"));
  try {
    const all = ["--base-url", url, "--report", folder, "--linger", "0", ...args];
    const onOutput = (output: string) => during(child, output);
    const { child, ended } = startCertify(all, { env: { API_KEY: key, ...env }, onOutput });
    const result = await ended;
    const names = await readdir(folder);
    const texts = await Promise.all(
      names.map(async (name) => [name, textOf(name, await readFile(join(folder, name)))]),
    );
    return { ...result, report: await reportIn(folder), files: Object.fromEntries(texts) as Record<string, string> };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
