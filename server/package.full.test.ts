// Runs the package as its users do, on the oldest and the newest Node that it supports.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { pages } from "./http/docs/pages.ts";
import { installPacked, tsc, type Project } from "../scripts/testing/packed.ts";
import { reservePort } from "../conformance/target/reserve-port.ts";
import { startProgram } from "./testing/process.ts";
import { startReceiver, type Receiver } from "./testing/receiver.ts";

const API_KEY = "a-key-for-the-packed-server";
/** The oldest version runs TypeScript, such as the guide's rail, only with an option. */
const TYPED = "--experimental-strip-types";
const NODES = {
  "Node 24": process.execPath,
  "Node 22.13": join(import.meta.dirname, "../scripts/runtimes/node_modules/node/bin/node"),
};
/** Pretends that Node has this version, because the tests have no Node that is so old. */
const OLD = ["--import", 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.20.0" })'];

const RAILS_YAML = "rails: { bank: { module: bank.ts, settings: { folder: FOLDER } } }\nroutes: [{ rail: bank }]\n";
const guide = readFileSync(join(import.meta.dirname, "docs/rails.md"), "utf8");
/** A file of the guide about rails, as readers copy it. */
const inGuide = (name: string): string => guide.split(`<!-- ${name} -->\n\n\`\`\`ts\n`)[1]!.split("```")[0]!;

let project: Project;
let bin = "";
let receiver: Receiver;
beforeAll(async () => {
  project = await installPacked("server");
  bin = project.bin("disbursement-checkout");
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  project.remove();
});

/** Starts the installed command. */
function start(node: string, env: Record<string, string>, ...args: string[]) {
  const program = startProgram(node, args, { NODE_COMPILE_CACHE: undefined, ...env }, project.folder);
  onTestFinished(() => program.kill("SIGKILL"));
  return program;
}
const end = async (...args: Parameters<typeof start>) => {
  const { ended, output } = start(...args);
  return [(await ended).code, output()];
};

test.each(Object.entries(NODES))("serves, listens and triggers on %s", async (_, node) => {
  const port = await reservePort();
  const env = { PORT: String(port), DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: API_KEY, LOG_LEVEL: "fatal" };
  const server = start(node, env, bin, "serve");
  await server.until(/curl/);
  const base = `http://127.0.0.1:${port}`;
  for (const path of ["/readyz", "/docs", "/docs/webhooks", "/docs/reference", "/openapi.yaml", "/dashboard"]) {
    expect.soft([path, (await fetch(base + path)).status]).toEqual([path, 200]);
  }
  const remote = ["--base-url", base];
  const own = { API_KEY, XDG_STATE_HOME: project.folder };
  let listener = start(node, own, bin, "listen", ...remote, "--forward-to", receiver.url);
  await listener.until(/^Connected\./m);
  const before = receiver.received.length;
  const trigger = (type: string) => end(node, { API_KEY }, bin, "trigger", type, ...remote);
  expect(await trigger("checkout.completed")).toEqual([0, expect.stringContaining("checkout.completed")]);
  await receiver.until(before + 1);
  await listener.until(/checkout\.completed +CHK\w+ +204 +\d+ ms\n/);
  listener.child.kill("SIGKILL");
  await listener.ended;
  await trigger("checkout.failed");
  listener = start(node, own, bin, "listen", ...remote, "--forward-to", receiver.url);
  await listener.until(/checkout\.failed +CHK\w+ +204 +\d+ ms\n/);
  listener.child.kill("SIGINT");
  expect((await listener.ended).code).toBe(0);
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

test.each(Object.entries(NODES))("runs a command on a sandbox, and prints nothing itself, on %s", async (_, node) => {
  const ended = await end(node, {}, bin, "sandbox", "--", node, "-p", "process.env.BASE_URL");
  expect(ended).toEqual([0, expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\n$/)]);
});

test("tells an old Node what it lacks", async () => {
  const says = /^disbursement-checkout needs Node 22\.13 or later, .+ This is Node 20\.20\.0\. .+\n$/;
  expect(await end(process.execPath, {}, ...OLD, bin, "serve")).toEqual([1, expect.stringMatching(says)]);
});

describe("the rail of the guide", () => {
  const files = ["bank.ts", "bank.test.ts"];
  beforeAll(() => {
    for (const name of files) project.write(name, inGuide(name));
  });

  test("type-checks", async () => {
    const options = ["--noEmit", "--strict", "--target", "es2024", "--module", "nodenext", "--types", "node"];
    const flags = ["--allowImportingTsExtensions", "--typeRoots", join(import.meta.dirname, "../node_modules/@types")];
    expect(project.node([tsc, ...options, ...flags, ...files])).toBe("");
  });

  test.each(Object.entries(NODES))("passes the suite on %s, and says what fails", async (_, node) => {
    const run = (file: string) => end(node, {}, TYPED, "--test", "--test-reporter=tap", file);
    const passes = /ok \d+ - the same reference is paid once[^]*^# fail 0$/m;
    expect(await run("bank.test.ts")).toEqual([0, expect.stringMatching(passes)]);

    const broken = inGuide("bank.ts").replace("if (sent !== lineOf(payment))", "if (!sent)");
    project.write("broken.ts", broken);
    project.write("broken.test.ts", inGuide("bank.test.ts").replace("./bank.ts", "./broken.ts"));
    const fails = /not ok \d+ - another payment with our reference is not taken for ours/;
    expect(await run("broken.test.ts")).toEqual([1, expect.stringMatching(fails)]);
  });
});

test.each(Object.entries(NODES))("pays over a module in another folder, on %s", async (_, node) => {
  // The oldest version finds the package only in a folder above.
  const elsewhere = mkdtempSync(join(node === process.execPath ? tmpdir() : project.folder, "modules-"));
  const bank = join(elsewhere, "bank.ts");
  writeFileSync(bank, inGuide("bank.ts"));
  writeFileSync(join(elsewhere, "rails.yaml"), RAILS_YAML.replace("FOLDER", elsewhere));
  const port = await reservePort();
  const live = { SANDBOX: "false", BALANCES: "tracked", SANDBOX_API_KEY: API_KEY, PORT: String(port) };
  const paths = { DATABASE_URL: `sqlite:${join(elsewhere, "live.db")}`, RAILS: join(elsewhere, "rails.yaml") };
  const server = start(node, { ...live, ...paths, LOG_LEVEL: "warn" }, TYPED, bin, "serve");
  await server.until(/Money moves over bank/);
  const common = { amount: 100, country: "CI", currency: "XOF" };
  const headers = { "x-api-key": API_KEY, "content-type": "application/json" };
  const call = async (path: string, body?: object) => {
    const init = body && { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`http://127.0.0.1:${port}/v1/${path}`, { headers, ...init })).json();
  };
  const payout = { reference: "p1", phoneNumber: "2250501020304", ...common };
  const { reference } = (await call("disbursements", payout)).data;
  await expect.poll(() => readdirSync(join(elsewhere, "out"))).toEqual([`${reference}.csv`]);
  writeFileSync(join(elsewhere, "results", `${reference}.csv`), "paid");
  await expect.poll(async () => (await call(`disbursements/${reference}`)).data.status).toBe("success");
  expect((await call("checkouts", common)).code).toBe("not_served");
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  rmSync(elsewhere, { recursive: true });
});

test("contains no TypeScript, tests or settings of the repository", () => {
  const files = readdirSync(project.installed, { recursive: true, encoding: "utf8" });
  expect(files).toEqual(expect.arrayContaining(["bin.js", "README.md", "dist/LICENSE", "dist/server/cli.js"]));
  const guides = pages.map((page) => `dist/generated/docs/${page.name}.html`);
  expect(files).toEqual(expect.arrayContaining(["dist/generated/docs/webhooks.html", ...guides]));
  expect(files.filter((file) => /(?<!\.d)\.ts$|\.test\.|tsconfig|testing|deploy/.test(file))).toEqual([]);
});

test("takes at most 45 MB with the client, and runs on any machine", async () => {
  const client = await installPacked("client");
  const workspaces = [project, client].map(({ manifest }) => `--workspace=${manifest.name}`);
  const list = ["ls", "--package-lock-only", "--all", "--parseable", "--omit=dev", ...workspaces];
  const listed = execFileSync("npm", list, { cwd: join(import.meta.dirname, ".."), encoding: "utf8" });
  const dependencies = listed.split("\n").filter((path) => path.includes("node_modules"));
  expect(dependencies.length).toBeGreaterThan(100);
  const filesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.slice(folder.length).includes("node_modules"))
      .map(({ parentPath, name }) => join(parentPath, name));
  const files = [project.installed, client.installed, ...dependencies].flatMap(filesOf);
  const blocks = files.reduce((sum, file) => sum + Math.ceil(statSync(file).size / 4_096), 0);
  expect(blocks * 4_096).toBeLessThan(45 * 2 ** 20);
  // Nothing was compiled for one system or processor.
  expect(files.filter((file) => /\.node$|binding\.gyp$/.test(file))).toEqual([]);
  client.remove();
});
