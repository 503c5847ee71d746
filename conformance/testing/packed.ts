// The package as npm would publish it, in an empty project. The registry is not involved: its dependencies are linked
// from this repository.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const workspace = join(import.meta.dirname, "..");
const name = "@disbursement-checkout/conformance";

/** `npm ci` puts a package into the workspace's own folder when another workspace needs a different version. */
const moduleFolders = [join(workspace, "node_modules"), join(workspace, "../node_modules")];

type Manifest = { version: string; bin: Record<string, string>; dependencies: Record<string, string> };

const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** Where `npm ci` installed a dependency. @throws Error if it is missing or has another version than declared */
function installedDependency(dependency: string, version: string): string {
  const folder = moduleFolders.map((modules) => join(modules, dependency)).find((each) => existsSync(each));
  if (folder === undefined) throw new Error(`${dependency} is not installed: run npm ci`);
  const found = readManifest(folder).version;
  if (found !== version) throw new Error(`${dependency} is installed as ${found}, not as ${version}: run npm ci`);
  return folder;
}

function link(target: string, path: string) {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/**
 * Packs this workspace and installs the result as `npm install` would: the declared dependencies and `bin` are linked
 * into node_modules, and nothing else, so that an undeclared dependency is not found.
 */
export async function installPacked() {
  // The space is deliberate: people have such paths.
  const folder = mkdtempSync(join(tmpdir(), "an empty folder "));
  const run = promisify(execFile);
  await run("npm", ["pack", "--offline", "--pack-destination", folder], { cwd: workspace });
  const installed = join(folder, "node_modules", name);
  mkdirSync(installed, { recursive: true });
  const tarball = join(folder, `disbursement-checkout-conformance-${readManifest(workspace).version}.tgz`);
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  const { bin, dependencies } = readManifest(installed);
  for (const [dependency, version] of Object.entries(dependencies)) {
    link(installedDependency(dependency, version), join(folder, "node_modules", dependency));
  }
  for (const [command, file] of Object.entries(bin)) {
    link(join(installed, file), join(folder, "node_modules/.bin", command));
  }
  return { folder, installed, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
