// Installs the package as npm would publish it into an empty project. The dependencies are linked from this repository,
// so the registry is not needed.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const workspace = join(import.meta.dirname, "..");
const name = "@disbursement-checkout/conformance";

/**
 * The folders into which `npm ci` installs dependencies. It uses the workspace's own folder if another workspace needs
 * a different version of the package.
 */
const moduleFolders = [join(workspace, "node_modules"), join(workspace, "../node_modules")];

type Manifest = {
  version: string;
  bin: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};

const readManifest = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/**
 * Returns the folder into which `npm ci` installed a dependency.
 * @throws Error if the dependency is missing or does not have the declared version
 */
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

/** Returns the folders of a dependency of `from` and of everything that it depends on. */
function folderTree(dependency: string, from: string, seen: Set<string>): Set<string> {
  const folder = createRequire(join(from, "package.json"))
    .resolve.paths(dependency)
    ?.map((modules) => join(modules, dependency))
    .find((each) => existsSync(join(each, "package.json")));
  if (folder === undefined) throw new Error(`${dependency} is not installed: run npm ci`);
  if (seen.has(folder)) return seen;
  seen.add(folder);
  for (const next of Object.keys(readManifest(folder).dependencies ?? {})) folderTree(next, folder, seen);
  return seen;
}

/** Returns the number of packages that `npm install --omit=optional` of this workspace installs, and their size. */
export function installedWeight() {
  const folders = new Set<string>();
  for (const dependency of Object.keys(readManifest(workspace).dependencies ?? {})) {
    folderTree(dependency, workspace, folders);
  }
  const sizes = [...folders].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).size),
  );
  return { packages: folders.size, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/**
 * Packs this workspace and installs the result as `npm install` would. Only the declared dependencies and `bin` are
 * linked into node_modules, so that an import of an undeclared dependency fails.
 */
export async function installPacked() {
  // The path contains spaces on purpose, because the paths of some users do.
  const folder = mkdtempSync(join(tmpdir(), "an empty folder "));
  const run = promisify(execFile);
  await run("npm", ["pack", "--offline", "--pack-destination", folder], { cwd: workspace });
  const installed = join(folder, "node_modules", name);
  mkdirSync(installed, { recursive: true });
  const tarball = join(folder, `disbursement-checkout-conformance-${readManifest(workspace).version}.tgz`);
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  const { bin, dependencies, optionalDependencies } = readManifest(installed);
  for (const [dependency, version] of Object.entries({ ...dependencies, ...optionalDependencies })) {
    link(installedDependency(dependency, version), join(folder, "node_modules", dependency));
  }
  for (const [command, file] of Object.entries(bin)) {
    link(join(installed, file), join(folder, "node_modules/.bin", command));
  }
  return { folder, installed, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
