import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { compareContracts } from "./contract/compare.ts";
import { readContract, releaseFaults } from "./contract/release.ts";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const CONTRACT = path("../spec/openapi.yaml");
const contract = await readFile(CONTRACT, "utf8");

/** The contract with a smaller maximum for clock moves, which breaks requests. */
const shorter = contract.replace("maximum: 31536000", "maximum: 86400");
const PLACE = "schemas/ClockAdvance > properties > seconds > maximum";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "contract-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(file: string, text: string): Promise<string> {
  await mkdir(join(folder, file, ".."), { recursive: true });
  await writeFile(join(folder, file), text);
  return join(folder, file);
}

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [path("contract.ts"), ...args], (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

test("the command says what breaks and exits with 1", async () => {
  const { code, stdout } = await run("diff", CONTRACT, await write("new.yaml", shorter));
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^Breaking:\n {2}schemas\/ClockAdvance > properties > seconds > maximum: fewer values are valid \(31536000 → 86400\)/,
  );
  expect(stdout).toMatch(/1 changes, 0 of them to texts and examples; 1 break\.\n$/);
});

test("the command exits with 0 if nothing breaks, and prints JSON", async () => {
  const file = await write("new.yaml", contract.replace("version: 1.0.0", "version: 1.0.1"));
  const { code, stdout } = await run("diff", CONTRACT, file, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ where: "document > info", verdict: "compatible" })]);
});

test("the command exits with 2 and says what is wrong with its arguments", async () => {
  const { code, stderr } = await run("diff", CONTRACT);
  expect(code).toBe(2);
  expect(stderr).toContain("Usage: npm run contract -- diff OLD NEW");
});

test.each([
  ["none.yaml", "Cannot read none.yaml: ENOENT"],
  [path("../package.json"), "is no OpenAPI document: it has no field `openapi`."],
])("%s is no contract", async (file, message) => {
  await expect(readContract(file)).rejects.toThrow(message);
});

test("a reference that leads nowhere is named", () => {
  const broken = parse(contract.replaceAll('/schemas/Amount"', '/schemas/Sum"'));
  expect(() => compareContracts(parse(contract), broken)).toThrow("#/components/schemas/Sum leads to no component");
});

test("without a released contract nothing is checked, and check says so", async () => {
  expect(await releaseFaults(pathToFileURL(`${folder}/`))).toBeUndefined();
  const { code, stdout } = await run("check");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^No contract has been released, /)]);
});

async function faults(changed: string, unreleased: string): Promise<string[]> {
  await write("spec/released/0.9.0.yaml", "openapi: 3.1.0");
  await write("spec/released/1.0.0.yaml", contract);
  await write("spec/openapi.yaml", changed);
  await write("CHANGELOG.md", `# Changelog\n\n${unreleased}\n## 1.0.0\n\n- The first version.\n`);
  return (await releaseFaults(pathToFileURL(`${folder}/`)))!;
}

const declaring = (place: string) => `## Unreleased\n\n### Breaking changes of the contract\n\n- \`${place}\`: why.\n`;

test("a breaking change since the last release must be declared", async () => {
  expect(await faults(shorter, "")).toEqual([
    expect.stringMatching(`^\`${PLACE}\` breaks merchants' programs`),
    'CHANGELOG.md declares such changes under "### Breaking changes of the contract".',
  ]);
  expect(await faults(shorter, declaring(PLACE))).toEqual([]);
  expect((await faults(shorter, declaring("schemas/Amount")))[0]).toContain(PLACE);
});

test("a change that is declared as breaking must exist", async () => {
  expect((await faults(contract, declaring(PLACE)))[0]).toBe(
    `\`${PLACE}\` is declared as breaking, but nothing breaks there.`,
  );
});
