// Runs tests of a merchant's program as a merchant does: from an empty folder with the packed server and client.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, tsc, type Project } from "../../scripts/testing/packed.ts";

const run = promisify(execFile);
const runtimes = join(import.meta.dirname, "../../scripts/runtimes/node_modules");

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
  ${check}(event.data.failure?.code, "wallet_blocked");`;
const esm = `
import { createClient } from "@disbursement-checkout/client";
import { verifyWebhook } from "@disbursement-checkout/client/webhooks";
import { startSandbox } from "@disbursement-checkout/server/testing";`;
const cjs = esm.replaceAll(/import (.+) from (.+);/g, "const $1 = require($2);");

let project: Project;
beforeAll(async () => {
  project = await installPacked("server", [], ["client"]);
});
afterAll(() => project.remove());

test("runs with node:test on the oldest Node", async () => {
  const content = `import assert from "node:assert/strict";\nimport { test } from "node:test";\n${esm}
test("pays", async (t) => {${steps("assert.equal", "t.after(sandbox.stop);")}\n});\n`;
  project.write("pays.test.mjs", content);
  const { stdout, stderr } = await run(
    join(runtimes, "node/bin/node"),
    ["--test", "--test-reporter=tap", "pays.test.mjs"],
    {
      cwd: project.folder,
    },
  );
  expect(stdout).toMatch(/^# pass 1$/m);
  expect(stderr).toBe("");
});

test("has types for ES modules and CommonJS", async () => {
  const content = `${esm}\nexport async function pays(same: (a: unknown, b: unknown) => void) {${steps("same", "")}\n}\n`;
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
