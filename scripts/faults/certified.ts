import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLoadBalancer } from "../../server/testing/load-balancer.ts";
import { runKeys, startProcess, type ServerProcess } from "../../server/testing/process.ts";
import { reservePort } from "../../conformance/target/reserve-port.ts";
import { DATABASES } from "./database.ts";

const suite = fileURLToPath(new URL("../../conformance/certify.ts", import.meta.url));
const KEY = "a-key-for-certified-processes";
const PROCESSES = 4;

export interface CertifyOptions {
  runs: number;
  /** The seed of the first run; each further run has the next number. */
  seed: number;
  /** The requirements to judge; all requirements of the profile if absent. */
  only?: readonly string[];
  print(line: string): void;
}

/**
 * Runs the conformance suite, with all of profile `extended`, on four processes behind a load balancer that gives each
 * request to the next process. Returns the runs that failed.
 */
export async function runCertify({ runs, seed, only, print }: CertifyOptions): Promise<string[]> {
  const failures: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "certified-"));
  const database = await DATABASES.postgres();
  const balancer = await startLoadBalancer();
  const processes: ServerProcess[] = [];
  try {
    const url = `http://127.0.0.1:${balancer.port}`;
    const env = { DATABASE_URL: database.url, SANDBOX_API_KEY: KEY, PUBLIC_URL: url };
    for (let count = 0; count < PROCESSES; count += 1) {
      const port = await reservePort();
      processes.push(await startProcess({ ...env, PORT: String(port) }));
      await balancer.add(port);
    }
    const secondKey = /: (\S+)$/m.exec((await runKeys(env, "create-merchant", "Second")).stdout)![1]!;
    const args = ["--base-url", url, "--profile", "extended", "--report", folder];
    if (only) args.push("--only", only.join(","));
    for (let run = 0; run < runs; run += 1) {
      await Promise.all([KEY, secondKey].map((key) => reset(url, key)));
      const began = performance.now();
      const { code, output } = await certify([...args, "--seed", String(seed + run)], KEY, secondKey);
      const took = `run ${run + 1} of ${runs}: exit code ${code} after ${((performance.now() - began) / 1_000).toFixed(0)} s`;
      print(took);
      if (code !== 0) failures.push(`${took}\n${output}`);
    }
  } finally {
    for (const { kill } of processes) kill("SIGTERM");
    for (const { ended } of processes) await ended;
    await balancer.close();
    await database.close();
    rmSync(folder, { recursive: true });
  }
  print(`${runs - failures.length} of ${runs} runs passed`);
  for (const failure of failures) print(failure);
  return failures;
}

/** Sets the time of a merchant's sandbox back, which every run moves forward by weeks. */
async function reset(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/sandbox/reset`, { method: "POST", headers: { "x-api-key": key } });
  if (!response.ok) throw new Error(`The sandbox was not reset: ${response.status} ${await response.text()}`);
}

/** Runs the suite in a process of its own, as its users do. */
export async function certify(
  args: readonly string[],
  key: string,
  secondKey?: string,
): Promise<{ code: number; output: string }> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, API_KEY: key, ...(secondKey !== undefined && { API_KEY_2: secondKey }) };
  return new Promise((resolve) => {
    execFile(process.execPath, [suite, ...args], { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    );
  });
}
