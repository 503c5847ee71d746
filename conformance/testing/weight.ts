import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { readManifest } from "../../scripts/testing/packed.ts";

const workspace = join(import.meta.dirname, "..");

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
