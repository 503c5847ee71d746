// Packs every package that would be published with npm's own scripts, installs it in an empty project and runs it once.
// Dependencies are linked from this repository, because npm would ask the registry for them.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

interface Manifest {
  name: string;
  private?: boolean;
  workspaces?: string[];
  bin?: Record<string, string>;
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const root = join(import.meta.dirname, "..");
const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
const { workspaces = [] } = readManifest(root);
const published = workspaces.filter((workspace) => !readManifest(join(root, workspace)).private);

const withoutPackages = (path: string) => !["node_modules", "dist"].includes(basename(path));

let folder: string;
let copy: string;

/** npm builds in the folder that it packs. A copy keeps the build away from tests that run at the same time. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "packages "));
  copy = join(folder, "repository");
  for (const name of [...workspaces, "spec", "generated", "package.json", "tsconfig.json", "LICENSE"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: withoutPackages });
  }
  for (const name of ["", ...workspaces]) {
    const modules = join(root, name, "node_modules");
    if (existsSync(modules)) symlinkSync(modules, join(copy, name, "node_modules"));
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** Packs a workspace as `npm publish` does, and unpacks it into an empty project. */
function installPacked(workspace: string) {
  const project = join(folder, `project of ${workspace}`);
  mkdirSync(project);
  const args = ["pack", "--offline", "--pack-destination", project];
  const env = { ...process.env, npm_config_cache: join(folder, "npm-cache"), npm_config_update_notifier: "false" };
  execFileSync("npm", args, { cwd: join(copy, workspace), env, stdio: "pipe" });
  const tarball = readdirSync(project).find((name) => name.endsWith(".tgz"))!;
  const manifest = readManifest(join(root, workspace));
  const modules = join(project, "node_modules");
  const installed = join(modules, manifest.name);
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(project, tarball), "--strip-components=1", "-C", installed]);
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const places = [join(root, workspace, "node_modules", name), join(root, "node_modules", name)];
    link(
      places.find((place) => existsSync(place))!,
      join(modules, name),
    );
  }
  for (const [command, file] of Object.entries(manifest.bin ?? {})) {
    link(join(installed, file), join(modules, ".bin", command));
  }
  return { project, installed, manifest };
}

test("every workspace that is not private is a package", () => {
  expect(published).toEqual(["client", "server", "conformance"]);
});

test.each(published)("npm packs %s, and the installed package runs", { timeout: 240_000 }, (workspace) => {
  const { project, installed, manifest } = installPacked(workspace);
  const { PATH, HOME } = process.env;
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: project, env: { PATH, HOME }, encoding: "utf8" });
  for (const command of Object.keys(manifest.bin ?? {})) {
    const { stdout, stderr } = run(join(project, "node_modules/.bin", command), "--help");
    expect.soft(stdout + stderr).toMatch(/^Usage: /m);
    expect.soft(stderr).not.toMatch(/ERR_MODULE|Cannot find/);
  }
  const entries = Object.keys(manifest.exports ?? {}).filter((entry) => !entry.endsWith(".json"));
  for (const entry of entries) {
    const code = `import * as entry from "${manifest.name}${entry.slice(1)}"; console.log(Object.keys(entry).length > 0);`;
    expect
      .soft(run(process.execPath, "--input-type=module", "--eval", code))
      .toMatchObject({ stdout: "true\n", stderr: "" });
  }
  expect(existsSync(join(installed, "dist/LICENSE")) || existsSync(join(installed, "LICENSE"))).toBe(true);
  expect(entries.length + Object.keys(manifest.bin ?? {}).length).toBeGreaterThan(0);
});
