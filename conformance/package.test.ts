// What `npm pack` makes of this folder, installed where nothing of the repository is, as a partner would use it.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

// A blank in the path, since people have them.
const folder = mkdtempSync(join(tmpdir(), "an empty folder "));
const key = "a-key-of-the-merchant";
const minutes = 60_000;

/** A target that knows its key and has no disbursements. */
const server = createServer((request, response) => {
  const statusCode = request.headers["x-api-key"] === key ? 404 : 401;
  response.writeHead(statusCode, { "content-type": "application/json" });
  response.end(JSON.stringify({ statusCode, error: statusCode === 401 ? "Unauthorized" : "Not Found" }));
});

/** Runs a command in the folder. Of the environment it has only what finds Node and npm. */
function run(command: string, args: string[], cwd = folder): Promise<{ exitCode: number; output: string }> {
  const { PATH, HOME, SystemRoot } = process.env;
  const env = { PATH, HOME, SystemRoot, npm_config_update_notifier: "false", API_KEY: key };
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code ?? -1);
      resolve({ exitCode, output: stdout + stderr });
    });
  });
}

async function npm(args: string[], cwd: string): Promise<void> {
  const { exitCode, output } = await run("npm", args, cwd);
  if (exitCode !== 0) throw new Error(`npm ${args[0]} failed: ${output}`);
}

const certify = (...args: string[]) => run(join(folder, "node_modules/.bin/certify"), args);

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  await npm(["pack", "--pack-destination", folder], import.meta.dirname);
  const tarball = "disbursement-checkout-conformance-1.0.0.tgz";
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-save", join(folder, tarball)];
  await npm(install, folder);
}, 5 * minutes);

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const baseUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test(
  "it judges a target and writes every report",
  async () => {
    const only = "auth.verify-needs-key,auth.verify-refuses-wrong-key,verify.unknown-404";
    const { exitCode, output } = await certify("--base-url", baseUrl(), "--only", only, "--effects", "none");
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining("PASSED IN PART") });
    const report = JSON.parse(readFileSync(join(folder, "certify-report/report.json"), "utf8"));
    expect(report).toMatchObject({ suiteVersion: "1.0.0", counts: { pass: 3, fail: 0, "could-not-run": 0 } });
    for (const name of ["report.html", "junit.xml", "badge.svg"]) {
      expect(existsSync(join(folder, "certify-report", name))).toBe(true);
    }
  },
  minutes,
);

test(
  "it makes keys and compares reports",
  async () => {
    expect(await certify("keygen", "signing")).toMatchObject({ exitCode: 0 });
    const report = "certify-report/report.json";
    expect(await certify("diff", report, report)).toMatchObject({ exitCode: 0 });
  },
  minutes,
);

test(
  "it says what is missing, and exits with 2",
  async () => {
    expect(await certify()).toEqual({ exitCode: 2, output: expect.stringContaining("--base-url is missing") });
  },
  minutes,
);

test("it holds no tests, no sources and no settings of the repository", () => {
  const installed = join(folder, "node_modules/@disbursement-checkout/conformance");
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => /\.test\.|\.ts$|tsconfig|testing/.test(file))).toEqual([]);
});
