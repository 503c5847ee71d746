import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { useFolder } from "../server/testing/resources.ts";
import { releaseFaults } from "./contract/release.ts";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const CONTRACT = path("../spec/openapi.yaml");
const contract = await readFile(CONTRACT, "utf8");

/** The contract with a smaller maximum for clock moves, which breaks requests. */
const shorter = contract.replace("maximum: 31536000", "maximum: 86400");
const PLACE = "schemas/ClockAdvance > properties > seconds > maximum";

const pathOf = useFolder();

async function write(name: string, text: string): Promise<string> {
  const file = pathOf(name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

const run = (...args: string[]) => spawnSync(process.execPath, [path("contract.ts"), ...args], { encoding: "utf8" });

const brokenReference = contract.replaceAll('/schemas/Amount"', '/schemas/Sum"');
test.each<[what: string, changed: string, options: string[], code: number, output: string]>([
  ["says what breaks", shorter, [], 1, `Breaking:\n  ${PLACE}: fewer values are valid (31536000 → 86400)`],
  ["counts what does not break", contract.replace("version: 1.0.0", "version: 1.0.1"), [], 0, "; 0 break."],
  ["refuses other arguments", contract, ["more"], 2, "Usage: npm run contract -- diff OLD NEW"],
  ["names a file that is no contract", "a: 1", [], 2, "is no OpenAPI document: it has no field `openapi`."],
  ["names a reference that leads nowhere", brokenReference, [], 2, "/schemas/Sum leads to no component"],
])("the command %s", async (_, changed, options, code, output) => {
  const ended = run("diff", CONTRACT, await write("new.yaml", changed), ...options);
  expect(ended.status).toBe(code);
  expect(ended.stdout + ended.stderr).toContain(output);
});

test("without a released contract nothing is checked, and check says so", async () => {
  expect(await releaseFaults(pathToFileURL(`${pathOf()}/`))).toBeUndefined();
  const { status, stdout } = run("check");
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^No contract has been released, /)]);
});

async function faults(changed: string, unreleased: string): Promise<string[]> {
  await write("spec/released/0.9.0.yaml", "openapi: 3.1.0");
  await write("spec/released/1.0.0.yaml", contract);
  await write("spec/openapi.yaml", changed);
  await write("CHANGELOG.md", `# Changelog\n\n${unreleased}\n## 1.0.0\n\n- The first version.\n`);
  return (await releaseFaults(pathToFileURL(`${pathOf()}/`)))!;
}

const declaring = (place: string) => `## Unreleased\n\n### Breaking changes of the contract\n\n- \`${place}\`: why.\n`;

test("a breaking change since the last release must be declared, and a declared one must exist", async () => {
  expect(await faults(shorter, "")).toEqual([
    expect.stringMatching(`^\`${PLACE}\` breaks merchants' programs`),
    'CHANGELOG.md declares such changes under "### Breaking changes of the contract".',
  ]);
  expect(await faults(shorter, declaring(PLACE))).toEqual([]);
  expect((await faults(contract, declaring(PLACE)))[0]).toBe(
    `\`${PLACE}\` is declared as breaking, but nothing breaks there.`,
  );
});
