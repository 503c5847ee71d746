// Runs the files and commands of the guide "Your tests", from a folder in which the packages are installed.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../config.ts";
import { installPacked, type Project } from "../../scripts/testing/packed.ts";
import { blocksOf } from "../../scripts/testing/reader.ts";

const blocks = blocksOf(readFileSync(join(import.meta.dirname, "../docs/your-tests.md"), "utf8"));

let project: Project;
beforeAll(async () => {
  project = await installPacked("server", ["vitest"], ["client"]);
  symlinkSync("../vitest/vitest.mjs", project.bin("vitest"));
});
afterAll(() => project.remove());

/** Runs a command of the guide. */
function run(command: string) {
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
    expect(run(command)).toEqual({ status: 0, printed: expect.stringMatching(/pass|OK|ok/) });
    // The payout is still pending then.
    project.write(file, program.replace("86400", "60").replace("days: 1", "minutes: 1"));
    expect(run(command)).toEqual({ status: 1, printed: expect.stringMatching(/pending/) });
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
