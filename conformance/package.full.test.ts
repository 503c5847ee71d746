// Packs the package, installs it outside this repository and runs it as a user would. The test needs no network.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, type Project } from "../scripts/testing/packed.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

const key = "a-key-of-the-merchant";
let target: Awaited<ReturnType<typeof startSoundTarget>>;
let project: Project;

beforeAll(async () => {
  target = await startSoundTarget({ key });
  project = await installPacked("conformance");
});
afterAll(async () => {
  await target.stop();
  project.remove();
});

/** Runs the installed command in the project, with the environment variables that are needed to find Node. */
function certify(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { PATH, HOME, SystemRoot, NODE_COMPILE_CACHE } = process.env;
  const options = {
    cwd: project.folder,
    env: { PATH, HOME, SystemRoot, NODE_COMPILE_CACHE, API_KEY: key, ...env },
    maxBuffer: 2 ** 26,
  };
  return new Promise<{ exitCode: unknown; output: string }>((resolve) => {
    execFile(project.bin("certify"), args, options, (error, stdout, stderr) =>
      resolve({ exitCode: error?.code ?? 0, output: stdout + stderr }),
    );
  });
}

test("tells an old Node what it lacks, before anything is sent", async () => {
  const old = `--import=data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.0'})`;
  const { exitCode, output } = await certify(["init", "--base-url", target.url], { NODE_OPTIONS: old });
  expect(exitCode).toBe(2);
  expect(output).toMatch(/^certify needs Node 22\.12 or later\. This is Node 20\.20\.0, and nothing was sent\. /);
});

test("has another digest if one of its files is edited", async () => {
  const dist = join(project.installed, "dist/conformance");
  const { suiteSha256 } = (await import(join(dist, "certificate/hashes.js"))) as { suiteSha256(): string };
  const before = suiteSha256();
  const file = join(dist, "run/verdicts.js");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `${text}// edited\n`);
  expect(suiteSha256()).not.toBe(before);
  writeFileSync(file, text);
});

test("judges a target, writes every report, compares reports and creates signing keys", async () => {
  const only = "auth.verify-needs-key,auth.verify-refuses-wrong-key,verify.unknown-404";
  const { exitCode, output } = await certify(["--base-url", target.url, "--only", only, "--effects", "none"]);
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining("PASSED IN PART") });
  const reports = join(project.folder, "certify-report");
  const report = JSON.parse(readFileSync(join(reports, "report.json"), "utf8")) as object;
  expect(report).toMatchObject({ suiteVersion: "1.0.0", counts: { pass: 3, fail: 0, "could-not-run": 0 } });
  for (const name of ["report.html", "junit.xml", "summary.md"]) expect(existsSync(join(reports, name))).toBe(true);
  const file = "certify-report/report.json";
  expect(await certify(["diff", file, file])).toMatchObject({ exitCode: 0 });
  expect(await certify(["keygen", "signing"])).toMatchObject({ exitCode: 0 });
  expect(await certify([])).toEqual({ exitCode: 2, output: expect.stringContaining("--base-url is missing") });
});

test("installs, apart from Dredd, at most 15 packages of 12 MB", () => {
  const list = "ls --all --parseable --package-lock-only --omit=dev --omit=optional --workspace=conformance";
  const folders = execFileSync("npm", list.split(" "), { cwd: join(import.meta.dirname, ".."), encoding: "utf8" })
    .split("\n")
    .filter((folder) => /node_modules\/(?!@disbursement-checkout)/.test(folder));
  const bytes = folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .reduce((sum, entry) => sum + (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0), 0);
  expect(folders.length).toBeGreaterThan(5);
  expect(folders.length).toBeLessThanOrEqual(15);
  expect(bytes).toBeLessThanOrEqual(12e6);
});

test("names Dredd if npm has left it out, before it pays anybody", async () => {
  rmSync(join(project.folder, "node_modules/dredd"));
  const args = ["--base-url", target.url, "--only", "verify.unknown-404", "--effects", "none"];
  const { exitCode, output } = await certify(args);
  expect({ exitCode, output }).toEqual({ exitCode: 2, output: expect.stringContaining("Dredd is not installed") });
  expect(output).toContain("npm install --include=optional");
  expect(output).not.toContain("error in the suite");
});
