// Runs tests of a merchant's program as a merchant does: from an empty folder with the packed server and client.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../config.ts";
import { shared } from "../../scripts/testing/ask-shared.ts";
import { installPacked, tsc, type Project } from "../../scripts/testing/packed.ts";
import { blocksOf } from "../../scripts/testing/reader.ts";

const run = promisify(execFile);
const runtimes = join(import.meta.dirname, "../../scripts/runtimes/node_modules");
const NODES = { "Node 24": process.execPath, "Node 22.13": join(runtimes, "node/bin/node") };

/** A payout whose response is lost, its failure and its webhook. */
const steps = (check: string, end: string) => `
  const sandbox = await startSandbox();
  ${end}
  const { baseUrl, apiKey, webhookSecret } = sandbox;
  const client = createClient({ baseUrl, apiKey });
  await sandbox.lose("create");
  const payout = { reference: "salary-1", amount: 15000, phoneNumber: "2250102030405", country: "CI", currency: "XOF" };
  await client.disbursements.create(payout);
  ${check}((await sandbox.payouts()).length, 1);
  await sandbox.finish("salary-1", "failed", { failure: "wallet_blocked" });
  const { body, headers } = await sandbox.webhook("disbursement.failed");
  const { event } = await verifyWebhook(body, headers, webhookSecret);
  ${check}(event.data.failure.code, "wallet_blocked");`;
const imports = (write: (names: string, from: string) => string) =>
  [
    write("createClient", "@disbursement-checkout/client"),
    write("verifyWebhook", "@disbursement-checkout/client/webhooks"),
    write("startSandbox", "@disbursement-checkout/server/testing"),
  ].join("\n");

const esm = imports((name, from) => `import { ${name} } from "${from}";`);
const cjs = imports((name, from) => `const { ${name} } = require("${from}");`);

let project: Project;
beforeAll(async () => {
  project = await installPacked("server", ["vitest"]);
  symlinkSync("../vitest/vitest.mjs", project.bin("vitest"));
  const client = join(project.folder, "node_modules/@disbursement-checkout/client");
  mkdirSync(client);
  execFileSync("tar", ["-xzf", await shared("client"), "--strip-components=1", "-C", client]);
});
afterAll(() => project.remove());

test.each(Object.entries(NODES))("runs with node:test on %s", async (_, node) => {
  const content = `import assert from "node:assert/strict";\nimport { test } from "node:test";\n${esm}
test("pays", async (t) => {${steps("assert.equal", "t.after(sandbox.stop);")}\n});\n`;
  project.write("pays.test.mjs", content);
  const { stdout, stderr } = await run(node, ["--test", "--test-reporter=tap", "pays.test.mjs"], {
    cwd: project.folder,
  });
  expect(stdout).toMatch(/^# pass 1$/m);
  expect(stderr).toBe("");
});

test("has types for ES modules and CommonJS", async () => {
  const content = `${esm}\nexport async function pays(expect: (a: unknown, b: unknown) => void) {${steps("expect", "").replace("failure.code", "failure?.code")}
  // @ts-expect-error No such event.
  await sandbox.webhook("disbursement.cancelled");
  const sent = await sandbox.webhook("checkout.failed", { to: baseUrl });\n  expect(sent.response.status, 200);\n}\n`;
  project.write("pays.mts", content);
  project.write("pays.cts", content);
  const args = [tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "node20", "pays.mts", "pays.cts"];
  expect(
    project.node([...args, "--types", "node", "--typeRoots", join(import.meta.dirname, "../../node_modules/@types")]),
  ).toBe("");
});

test("runs in jest with its fake timers", async () => {
  project.write(
    "pays.test.cjs",
    `${cjs}
jest.useFakeTimers({ advanceTimers: true, now: 1e12 });
const same = (a, b) => expect(a).toStrictEqual(b);
test("pays", async () => {${steps("same", "")}\n  await sandbox.stop();\n});\n`,
  );
  const args = [join(runtimes, "jest/bin/jest.js"), "--rootDir", ".", "--testMatch", "**/*.test.cjs"];
  expect((await run(process.execPath, args, { cwd: project.folder })).stderr).toMatch(/^Tests: +1 passed, 1 total$/m);
});

const blocks = blocksOf(readFileSync(join(import.meta.dirname, "../docs/your-tests.md"), "utf8"));

/** Runs a command of the guide. */
function follow(command: string) {
  // The settings of this test's runner must not reach the guide's.
  const env = { HOME: process.env.HOME, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const options = { cwd: project.folder, env, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], options);
  return { status, printed: stdout + stderr };
}

const isInstalled = (probe: string) => spawnSync("sh", ["-c", probe]).status === 0;
/** True unless a line is an import, or has only brackets. */
const isCode = (line: string) => !/^(import|package|<\?php|\t"[\w/]+"$)|^[\s(){};]*$/.test(line);

for (const [file, needs, probe] of [
  ["payouts.test.ts", "vitest", "true"],
  ["test_payouts.py", "pytest (Debian: python3-pytest)", "python3 -m pytest --version"],
  ["PayoutsTest.php", "PHPUnit (Debian: phpunit)", "phpunit --version"],
  ["payouts_test.go", "Go (Debian: golang-go)", "go version"],
] as const)
  test.skipIf(!isInstalled(probe))(`${file} passes, and fails if a payout ends otherwise: needs ${needs}`, () => {
    const at = blocks.findIndex((block) => block.file === file);
    const [program, command] = [blocks[at]!.text, blocks[at + 1]!.text];
    expect(program.split("\n").filter(isCode).length).toBeLessThanOrEqual(20);
    project.write(file, program);
    expect(follow(command)).toEqual({ status: 0, printed: expect.stringMatching(/pass|OK|ok/) });
    // The payout is still pending then.
    project.write(file, program.replace("86400", "60").replace("days: 1", "minutes: 1"));
    expect(follow(command)).toEqual({ status: 1, printed: expect.stringMatching(/pending/) });
  });

test("the settings of the container are the server's", () => {
  const { services } = parse(blocks.find(({ language }) => language === "yaml")!.text);
  expect(readConfig({ HOST: "0.0.0.0", ...services.sandbox.env }, { server: true })).toMatchObject({
    sandboxApiKey: "my-first-sandbox-key",
    database: { path: ":memory:" },
    settleDelayMs: 86_400_000,
    webhookAllowPrivate: true,
  });
});
