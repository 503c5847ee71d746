// Packs the package, installs it outside this repository and runs it as a user would. The test needs no network.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, type Project } from "../scripts/testing/packed.ts";
import { installedWeight } from "./testing/weight.ts";

const key = "a-key-of-the-merchant";
const minutes = 60_000;

/** A target that accepts one key and returns 404 for every request with it. */
const server = createServer((request, response) => {
  const statusCode = request.headers["x-api-key"] === key ? 404 : 401;
  response.writeHead(statusCode, { "content-type": "application/json" });
  response.end(JSON.stringify({ statusCode, error: statusCode === 401 ? "Unauthorized" : "Not Found" }));
});

let project: Project;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  project = await installPacked("conformance");
}, 5 * minutes);

afterAll(() => {
  server.close();
  project.remove();
});

/**
 * Runs the installed command in the project. It passes on only the environment variables that are needed to find Node.
 */
function certify(...args: string[]): Promise<{ exitCode: number; output: string }> {
  const { PATH, HOME, SystemRoot, NODE_COMPILE_CACHE } = process.env;
  const options = {
    cwd: project.folder,
    env: { PATH, HOME, SystemRoot, NODE_COMPILE_CACHE, API_KEY: key },
    maxBuffer: 2 ** 26,
  };
  return new Promise((resolve) => {
    execFile(project.bin("certify"), args, options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code ?? -1);
      resolve({ exitCode, output: stdout + stderr });
    });
  });
}

test("tells an old Node what it lacks, before anything is sent", async () => {
  const old = `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.0'})`;
  const env = { ...process.env, NODE_OPTIONS: old };
  const [code, text] = await new Promise<[unknown, string]>((resolve) => {
    execFile(project.bin("certify"), ["init", "--base-url", baseUrl()], { env }, (error, _, stderr) =>
      resolve([error?.code, stderr]),
    );
  });
  expect(code).toBe(2);
  expect(text).toMatch(/^certify needs Node 22\.12 or later\. This is Node 20\.20\.0, and nothing was sent\. /);
});

test("has another digest once a file of it is edited", async () => {
  const dist = join(project.folder, "node_modules/@disbursement-checkout/conformance/dist/conformance");
  const { suiteSha256 } = (await import(join(dist, "certificate/hashes.js"))) as { suiteSha256(): string };
  const before = suiteSha256();
  const file = join(dist, "run/verdicts.js");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `${text}// edited\n`);
  expect(suiteSha256()).not.toBe(before);
  writeFileSync(file, text);
});

const baseUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test(
  "judges a target and writes every report",
  async () => {
    const only = "auth.verify-needs-key,auth.verify-refuses-wrong-key,verify.unknown-404";
    const { exitCode, output } = await certify("--base-url", baseUrl(), "--only", only, "--effects", "none");
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining("PASSED IN PART") });
    const report = JSON.parse(readFileSync(join(project.folder, "certify-report/report.json"), "utf8"));
    expect(report).toMatchObject({ suiteVersion: "1.0.0", counts: { pass: 3, fail: 0, "could-not-run": 0 } });
    for (const name of ["report.html", "junit.xml", "summary.md"]) {
      expect(existsSync(join(project.folder, "certify-report", name))).toBe(true);
    }
  },
  minutes,
);

test(
  "creates signing keys and compares reports",
  async () => {
    expect(await certify("keygen", "signing")).toMatchObject({ exitCode: 0 });
    const report = "certify-report/report.json";
    expect(await certify("diff", report, report)).toMatchObject({ exitCode: 0 });
  },
  minutes,
);

test(
  "exits with 2 and names a missing option",
  async () => {
    expect(await certify()).toEqual({ exitCode: 2, output: expect.stringContaining("--base-url is missing") });
  },
  minutes,
);

test("contains no tests, TypeScript sources or settings of the repository", () => {
  const files = readdirSync(project.installed, { recursive: true, encoding: "utf8" });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => /\.test\.|\.ts$|tsconfig|testing/.test(file))).toEqual([]);
});

test("installs, apart from Dredd, at most 15 packages of 12 MB", () => {
  const { packages, bytes } = installedWeight();
  expect(packages).toBeGreaterThan(5);
  expect(packages).toBeLessThanOrEqual(15);
  expect(bytes).toBeGreaterThan(1e6);
  expect(bytes).toBeLessThanOrEqual(12e6);
});

test(
  "names Dredd if npm has left it out, before it pays anybody",
  async () => {
    rmSync(join(project.folder, "node_modules/dredd"));
    const args = ["--base-url", baseUrl(), "--only", "verify.unknown-404", "--effects", "none"];
    const { exitCode, output } = await certify(...args);
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: expect.stringContaining("Dredd is not installed") });
    expect(output).toContain("npm install --include=optional");
    expect(output).not.toContain("error in the suite");
  },
  minutes,
);
