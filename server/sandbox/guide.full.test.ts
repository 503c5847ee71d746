// Runs tests of a merchant's program as a merchant does: from an empty folder with the packed server and client. They are
// those of the guide "Your tests", and one for each other runner.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../config.ts";
import { installPacked, tsc, type Project } from "../../scripts/testing/packed.ts";
import { blocksOf } from "../../scripts/testing/reader.ts";

const blocks = blocksOf(readFileSync(join(import.meta.dirname, "../docs/your-tests.md"), "utf8"));

let project: Project;
beforeAll(async () => {
  project = await installPacked("server", ["vitest"], ["client"]);
  symlinkSync("../vitest/vitest.mjs", project.bin("vitest"));
});
afterAll(() => project.remove());

/** Runs a command in the folder. */
function run(command: string) {
  // The settings of this test's runner must not reach another.
  const env = { HOME: process.env.HOME, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const { status, stdout, stderr } = spawnSync(command, { cwd: project.folder, env, encoding: "utf8", shell: true });
  return { status, printed: stdout + stderr };
}

const isInstalled = (probe: string) => spawnSync(probe, { shell: true }).status === 0;
/** True unless a line is an import, or has only brackets. */
const isCode = (line: string) => !/^(import|<\?php)|^[\s(){};]*$/.test(line);

for (const [file, needs, probe] of [
  ["payouts.test.ts", "vitest", "true"],
  ["test_payouts.py", "pytest (Debian: python3-pytest)", "python3 -m pytest --version"],
  ["PayoutsTest.php", "PHPUnit (Debian: phpunit)", "phpunit --version"],
] as const)
  test.skipIf(!isInstalled(probe))(`${file} passes, and fails if a payout ends otherwise: needs ${needs}`, () => {
    const at = blocks.findIndex((block) => block.file === file);
    const [program, command] = [blocks[at]!.text, blocks[at + 1]!.text];
    expect(program.split("\n").filter(isCode).length).toBeLessThanOrEqual(20);
    project.write(file, program);
    expect(run(command)).toEqual({ status: 0, printed: expect.stringMatching(/pass|OK|ok/) });
    // The payout is still pending then.
    project.write(file, program.replace("86400", "60").replace("days: 1", "minutes: 1"));
    expect(run(command)).toEqual({ status: 1, printed: expect.stringMatching(/pending/) });
  });

const imports = `
import { createClient } from "@disbursement-checkout/client";
import { verifyWebhook } from "@disbursement-checkout/client/webhooks";
import { startSandbox } from "@disbursement-checkout/server/testing";`;
/** A payout whose response is lost, its failure and its webhook. */
const steps = `
  const sandbox = await startSandbox();
  const { baseUrl, apiKey, webhookSecret } = sandbox;
  const client = createClient({ baseUrl, apiKey });
  await sandbox.lose("create");
  const payout = { reference: "salary-1", amount: 15000, phoneNumber: "2250102030405", country: "CI", currency: "XOF" };
  await client.disbursements.create(payout);
  same((await sandbox.payouts()).length, 1);
  await sandbox.finish("salary-1", "failed", { failure: "wallet_blocked" });
  const { body, headers } = await sandbox.webhook("disbursement.failed");
  same((await verifyWebhook(body, headers, webhookSecret)).event.data.failure?.code, "wallet_blocked");
  await sandbox.stop();`;
const inTest = `test("pays", async () => {${steps}\n});`;
const inFunction = `export async function pays(same: (a: unknown, b: unknown) => void) {${steps}\n}`;
const RUNTIMES = join(import.meta.dirname, "../../scripts/runtimes/node_modules");
const TYPES = `--types node --typeRoots "${join(import.meta.dirname, "../../node_modules/@types")}"`;

test("works with node:test on the oldest Node", () => {
  const own = `import { equal as same } from "node:assert";\nimport test from "node:test";`;
  project.write("pays.mjs", `${own}${imports}\n${inTest}`);
  const { status, printed } = run(`"${RUNTIMES}/node/bin/node" --test --test-reporter=tap pays.mjs`);
  expect([status, printed]).toEqual([0, expect.stringMatching(/\n# pass 1\n(# .+\n)+$/)]);
});

test("works with jest, CommonJS and fake timers", () => {
  const own = `jest.useFakeTimers({ advanceTimers: true, now: 1e12 });
const same = (a, b) => expect(a).toStrictEqual(b);`;
  const required = imports.replaceAll(/import (.+) from (.+);/g, "const $1 = require($2);");
  project.write("pays.test.cjs", `${required}\n${own}\n${inTest}`);
  const { printed } = run(`node "${RUNTIMES}/jest/bin/jest.js" --rootDir . --testMatch "**/*.test.cjs"`);
  expect(printed).toMatch(/^Tests: +1 passed, 1 total$/m);
});

test("has types for ES modules and CommonJS", () => {
  for (const name of ["pays.mts", "pays.cts"]) project.write(name, `${imports}\n${inFunction}`);
  const options = `--noEmit --strict --target es2022 --module node20 ${TYPES}`;
  expect(run(`node "${tsc}" ${options} pays.mts pays.cts`)).toEqual({ status: 0, printed: "" });
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
