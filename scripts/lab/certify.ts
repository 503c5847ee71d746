import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLoadBalancer } from "../../server/testing/load-balancer.ts";
import { runKeys } from "../../server/testing/process.ts";
import { DATABASES } from "./database.ts";
import { createWorld, launchAll, violationsOf, type RunOptions } from "./world.ts";

const suite = fileURLToPath(new URL("../../conformance/certify.ts", import.meta.url));
const PROCESSES = 4;

/**
 * Runs the conformance suite, with all of profile `extended`, on four processes behind a load balancer that gives each
 * request to the next process. Returns the violations found.
 */
export async function runCertify({ runs, ...options }: RunOptions & { runs: number }): Promise<string[]> {
  const { violations, violate } = violationsOf(options.print);
  const database = await DATABASES.postgres();
  const balancer = await startLoadBalancer();
  const url = `http://127.0.0.1:${balancer.port}`;
  const world = await createWorld({ ...options, database, processes: PROCESSES, env: { PUBLIC_URL: url }, violate });
  try {
    await launchAll(world.servers);
    for (const { port } of world.servers) await balancer.add(port);
    const created = await runKeys({ DATABASE_URL: database.url }, "create-merchant", "Second");
    const secondKey = /: (\S+)$/m.exec(created.stdout)![1]!;
    for (let run = 0; run < runs; run += 1) {
      // Every run moves the sandbox's time forward by weeks.
      for (const key of [world.key, secondKey]) await world.caller.send("POST", "/sandbox/reset", { key });
      const began = performance.now();
      const args = ["--base-url", url, "--profile", "extended", "--seed", String(options.seed + run)];
      const { code, output } = await certify(args, world.key, secondKey);
      options.print(`run ${run + 1}: exit code ${code} after ${((performance.now() - began) / 1_000).toFixed(0)} s`);
      if (code !== 0) violate(`run ${run + 1} ended with ${code}: ${output}`);
    }
  } finally {
    await world.close();
    await balancer.close();
    await database.close();
  }
  return violations;
}

/** Runs the suite in a process of its own, as its users do. */
export async function certify(args: readonly string[], key: string, secondKey?: string) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, API_KEY: key, ...(secondKey !== undefined && { API_KEY_2: secondKey }) };
  const report = mkdtempSync(join(tmpdir(), "certified-"));
  const all = [suite, ...args, "--report", report];
  const ended = await new Promise<{ code: number; output: string }>((resolve) => {
    execFile(process.execPath, all, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
    );
  });
  rmSync(report, { recursive: true });
  return ended;
}
