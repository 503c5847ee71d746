// Installs the package in an empty project, exactly as npm would publish it.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const workspace = join(import.meta.dirname, "..");
/** The folders into which `npm ci` installs dependencies. */
const moduleFolders = [join(workspace, "node_modules"), join(workspace, "../node_modules")];

export interface PackedServer {
  /** The project's folder. */
  folder: string;
  /** The folder of the installed package. */
  installed: string;
  /** The installed command. */
  bin: string;
  remove(): void;
}

/**
 * Builds and packs the server in a folder of its own, so that no other test sees the build, and unpacks the tarball into
 * an empty project. Only the declared dependencies are linked, from this repository. npm gets an empty cache and no network.
 */
export function installPacked(): PackedServer {
  const folder = mkdtempSync(join(tmpdir(), "server package "));
  const source = join(folder, "source");
  mkdirSync(source);
  for (const name of ["package.json", "README.md", "bin.js"]) cpSync(join(workspace, name), join(source, name));
  execFileSync(process.execPath, [join(workspace, "pack.ts"), source], { stdio: "pipe" });
  const args = ["pack", "--json", "--offline", "--ignore-scripts", "--pack-destination", folder];
  const env = { ...process.env, npm_config_cache: join(folder, "npm-cache"), npm_config_update_notifier: "false" };
  const output = execFileSync("npm", args, { cwd: source, encoding: "utf8", env, stdio: "pipe" });
  const [{ filename }] = JSON.parse(output.slice(output.indexOf("[")));

  const modules = join(folder, "node_modules");
  const installed = join(modules, "@disbursement-checkout/server");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, filename), "--strip-components=1", "-C", installed], { stdio: "pipe" });
  rmSync(source, { recursive: true });
  const { dependencies, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    const found = moduleFolders.map((each) => join(each, name)).find((each) => existsSync(each));
    link(found!, join(modules, name));
  }
  const [[command, file]] = Object.entries<string>(bin) as [[string, string]];
  link(join(installed, file), join(modules, ".bin", command));
  return {
    folder,
    installed,
    bin: join(modules, ".bin", command),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}
