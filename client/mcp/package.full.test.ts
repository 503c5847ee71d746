// Packs the command, installs it outside this repository, and uses it as a host does: from its configuration.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, type Project } from "../../scripts/testing/packed.ts";
import { startProcess, type ServerProcess } from "../../server/testing/process.ts";
import { key } from "../testing/fakes.ts";
import type { Outcome } from "./outcome.ts";

let project: Project;
let server: ServerProcess;
let env: Record<string, string>;
beforeAll(async () => {
  project = await installPacked("client/mcp");
  server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: key });
  project.write("key", `${key}\n`);
  spawnSync("chmod", ["600", join(project.folder, "key")]);
  const { PATH, HOME } = process.env as { PATH: string; HOME: string };
  const paths = { API_KEY_FILE: join(project.folder, "key"), JOURNAL: join(project.folder, "journal") };
  env = { PATH, HOME, BASE_URL: server.url, ...paths };
});
afterAll(async () => {
  server?.kill("SIGKILL");
  project?.remove();
});

const command = () => project.bin("disbursement-checkout-mcp");
const run = (args: string[], changes: Record<string, string> = {}) =>
  spawnSync(command(), args, { env: { ...env, ...changes }, encoding: "utf8" });

/** Uses the tools in a process of their own, and kills it. */
async function session(use: (call: (name: string, args: object) => Promise<Outcome>) => Promise<void>) {
  const transport = new StdioClientTransport({ command: command(), env });
  const client = new Client({ name: "a host", version: "1" });
  await client.connect(transport);
  await use(async (name, args) => {
    const { structuredContent } = await client.callTool({ name, arguments: { ...args } });
    return structuredContent as Outcome;
  });
  process.kill(transport.pid!, "SIGKILL");
  await client.close();
}

test("a host pays a plan over stdio, in processes that are killed", async () => {
  const wallet = { phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
  let plan: string;
  let reference: string;
  await session(async (call) => {
    plan = (await call("prepare_payout", { ...wallet, amount: 1500000, purpose: "invoice 1" })).plan!.id;
    reference = (await call("pay", { plan })).payout!.reference;
  });
  await session(async (call) => {
    expect((await call("pay", { plan })).payout!.reference).toBe(reference);
    expect((await call("find_payouts", {})).payouts).toHaveLength(1);
  });
  expect(run(["--log"]).stdout.match(/ pay .*: (pending|success)/g)).toHaveLength(2);
  expect(run(["--approve", plan!])).toMatchObject({ status: 2, stderr: expect.stringContaining("in a terminal") });
});

test("explains itself, and names what is missing", () => {
  const help = { status: 0, stderr: "", stdout: expect.stringMatching(/^Usage: disbursement-checkout-mcp /) };
  expect(run(["--approve", "plan", "-h"], { BASE_URL: "" })).toMatchObject(help);
  expect(run([], { JOURNAL: "" })).toMatchObject({ status: 2, stderr: expect.stringContaining("JOURNAL") });
  expect(run([], { API_KEY_FILE: "/nowhere" })).toMatchObject({ status: 2, stderr: expect.stringContaining("ENOENT") });
  expect(run(["--nonsense"])).toMatchObject({ status: 2 });
});

test("the README's configuration starts the command", () => {
  const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
  const [config, policy] = [...readme.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => JSON.parse(text!));
  const { args, env: variables } = config.mcpServers.payments;
  expect(Object.keys(project.manifest.bin!)).toEqual([args.at(-1)]);
  const packed = project.manifest.name.replace("@", "").replace("/", "-");
  expect(args).toContainEqual(expect.stringMatching(new RegExp(`/${packed}-[\\d.]+\\.tgz$`)));
  expect(Object.keys(variables)).toEqual(["BASE_URL", "API_KEY_FILE", "JOURNAL"]);

  project.write("readme.json", policy);
  spawnSync("chmod", ["600", join(project.folder, "readme.json")]);
  expect(run(["--policy", join(project.folder, "readme.json"), "--log"])).toMatchObject({ status: 0, stderr: "" });
});
