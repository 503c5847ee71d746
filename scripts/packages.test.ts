// Installs every package that would be published in an empty project, looks at its files, and runs it once.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installPacked, readManifest } from "./testing/packed.ts";

const root = join(import.meta.dirname, "..");
const { workspaces = [] } = readManifest(root);
const published = workspaces.filter((workspace) => !readManifest(join(root, workspace)).private);

test.each(published)("npm packs %s, and the installed package runs", async (workspace) => {
  const { folder, installed, manifest, bin, remove } = await installPacked(workspace);
  const { PATH, HOME } = process.env;
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: folder, env: { PATH, HOME }, encoding: "utf8" });
  for (const command of Object.keys(manifest.bin ?? {})) {
    const { stdout, stderr } = run(bin(command), "--help");
    expect.soft(stdout + stderr).toMatch(/^Usage: /m);
    expect.soft(stderr).not.toMatch(/ERR_MODULE|Cannot find/);
  }
  const entries = Object.keys(manifest.exports ?? {}).filter((entry) => !entry.endsWith(".json"));
  const names = entries.map((entry) => manifest.name + entry.slice(1));
  const code = `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(await import(name)).length > 0);`;
  expect.soft(run(process.execPath, "--input-type=module", "--eval", code)).toMatchObject({
    stdout: names.map((name) => `${name} true\n`).join(""),
    stderr: "",
  });
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect.soft(files).toEqual(expect.arrayContaining(["README.md", expect.stringMatching(/^(dist\/)?LICENSE$/)]));
  expect.soft(files.filter((file) => /\.test\.|tsconfig|testing|(?<!\.d)\.c?ts$/.test(file))).toEqual([]);
  expect(entries.length + Object.keys(manifest.bin ?? {}).length).toBeGreaterThan(0);
  remove();
});
