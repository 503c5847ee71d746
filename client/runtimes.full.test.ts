// Runs the package, as npm would publish it, in every runtime that the README names. `npm run test:all` installs Node 22 and,
// on Linux x64, Bun, Deno and workerd. Node 20 is taken from PATH; without it its tests are skipped, and say so.
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, tsc, type Project } from "../scripts/testing/packed.ts";
import { startProcess, type ServerProcess } from "../server/testing/process.ts";
import { key } from "./testing/fakes.ts";

const smoke = `
import { createClient, DuplicateReferenceError, ValidationError } from "@disbursement-checkout/client";
import { receiveWebhooks } from "@disbursement-checkout/client/fetch";
import { signWebhook, verifyWebhook } from "@disbursement-checkout/client/webhooks";

export async function smoke(baseUrl: string, apiKey: string, runtime: string): Promise<string> {
  const client = createClient({ baseUrl, apiKey, timeout: 3000 });
  const request = { reference: runtime, amount: 1500, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
  const created = await client.disbursements.create(request);
  const final = await client.disbursements.waitFor(created.reference, { minDelay: 100, timeout: 20_000 });
  const raw = await client.raw.GET("/v1/disbursements/{reference}", { params: { path: { reference: created.reference } } });
  const duplicate = await client.disbursements.create(request).catch((error: unknown) => error);
  const responseLost = { ...request, reference: runtime + "-lost", phoneNumber: "2257038102504" };
  const lost = await client.disbursements.create(responseLost).result();
  const refused = { ...request, reference: runtime + "-invalid", phoneNumber: "12" };
  const invalid = await client.disbursements.create(refused).result();
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const signed = await signWebhook({ event: "disbursement.completed", data: final }, secret);
  const { event } = await verifyWebhook(signed.body, new Headers(signed.headers), secret);
  const handled: unknown[] = [];
  const receive = receiveWebhooks({ secret, onEvent: (event) => handled.push(event.data.reference) });
  const deliver = (body: string) => receive(new Request(baseUrl, { method: "POST", ...signed, body }));
  const responses = [await deliver(signed.body), await deliver(signed.body), await deliver("forged")];
  return JSON.stringify([
    created.recovered === false && final.status === "success",
    raw.data?.data.reference === created.reference,
    duplicate instanceof DuplicateReferenceError && duplicate.matches,
    // Deno's fetch resends a request when a kept-alive connection breaks, so the client may see only the 409.
    lost.outcome === "existed" && lost.data.recovered,
    invalid.outcome === "refused" && invalid.error instanceof ValidationError && invalid.error.status === 422,
    event.data.reference === created.reference,
    responses.map(({ status }) => status).join() === "204,204,400" && handled.join() === created.reference,
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
const workerConfig = (baseUrl: string) => `
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
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
`;

let project: Project;
let server: ServerProcess;
beforeAll(async () => {
  project = await installPacked("client");
  server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: key, SETTLE_DELAY_MS: "200" });
  const files = { "smoke.ts": smoke, "script.js": script, "worker.js": worker };
  for (const [name, content] of Object.entries(files)) project.write(name, content);
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", lib: ["es2022", "dom"], types: [] };
  project.write("smoke.json", { compilerOptions, files: ["smoke.ts"] });
  project.node([tsc, "-p", "smoke.json"]);
});
afterAll(async () => {
  server?.kill("SIGKILL");
  project?.remove();
});

/** Runs a program in the project's folder and returns what it prints. */
async function runIn(program: string, args: string[]): Promise<string> {
  const env = { ...process.env, NO_COLOR: "1" };
  return (await promisify(execFile)(program, args, { cwd: project.folder, env })).stdout.trim();
}

async function runInWorkerd(program: string): Promise<string> {
  const [input, outfile] = ["worker.js", "worker.bundle.js"].map((name) => join(project.folder, name));
  await build({ entryPoints: [input!], outfile, bundle: true, format: "esm", platform: "browser" });
  project.write("config.capnp", workerConfig(server.url));
  // On descriptor 3 workerd reports the port that it listens on.
  const args = ["serve", "config.capnp", "--control-fd=3"];
  const child = spawn(program, args, { cwd: project.folder, stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const exit = once(child, "exit");
  try {
    const reports = createInterface({ input: child.stdio[3] as Readable });
    const [report] = await Promise.race([once(reports, "line"), exit]);
    const { port } = JSON.parse(report as string);
    return await (await fetch(`http://127.0.0.1:${port}`)).text();
  } finally {
    child.kill();
    await exit;
  }
}

/** A program of the packages that `npm run test:all` installs for the other runtimes. */
const installed = (path: string) => fileURLToPath(new URL(`../scripts/runtimes/node_modules/${path}`, import.meta.url));

/** The first Node 20 on PATH that the package supports. */
function findNode20(): string | undefined {
  const programs = process.env["PATH"]!.split(delimiter).map((folder) => join(folder, "node"));
  return programs.filter(existsSync).find((program) => {
    const version = execFileSync(program, ["-p", "process.versions.node"], { encoding: "utf8" });
    const [major, minor] = version.split(".").map(Number) as [number, number];
    return major === 20 && minor >= 19;
  });
}

const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
const hasAll = process.platform === "linux" && process.arch === "x64" && !!header.glibcVersionRuntime;

test.for<{ name: string; program: string | undefined; args?: string[] }>([
  { name: `Node ${process.versions.node}`, program: process.execPath },
  { name: "Node 22", program: installed("node/bin/node") },
  { name: "Node 20", program: findNode20() },
  { name: "Bun", program: installed("@oven/bun-linux-x64/bin/bun"), args: ["run"] },
  {
    name: "Deno",
    program: installed("@deno/linux-x64-glibc/deno"),
    args: ["run", "--allow-net", "--allow-env", "--no-lock"],
  },
  { name: "workerd", program: installed("@cloudflare/workerd-linux-64/bin/workerd") },
])("in $name the package pays, recovers a lost response, and receives webhooks", async (runtime, { skip }) => {
  const { name, program = "", args = [] } = runtime;
  // Only Linux x64 with glibc has all of them, and there a missing one is a failure; Node 20 may be missing anywhere.
  if (!existsSync(program) && !(hasAll && program)) skip(`${name} is not installed`);
  const output =
    name === "workerd" ? runInWorkerd(program) : runIn(program, [...args, "script.js", server.url, key, name]);
  expect(JSON.parse(await output)).toEqual(Array(7).fill(true));
});
