// Installs a package as npm would publish it in an empty project. The declared dependencies are linked from this
// repository, so that an import of another package fails and the registry is not needed.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { shared } from "./ask-shared.ts";

export interface Manifest {
  name: string;
  private?: boolean;
  workspaces?: string[];
  bin?: Record<string, string>;
  exports?: Record<string, unknown>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export type Project = Awaited<ReturnType<typeof installPacked>>;

const root = join(import.meta.dirname, "../..");

/** The TypeScript compiler of this repository. */
export const tsc = join(root, "node_modules/typescript/bin/tsc");

export const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/**
 * Installs the package of a workspace.
 * @param extra other packages to link, for code in the project that imports them
 * @param others workspaces whose packages are installed beside it
 */
export async function installPacked(workspace: string, extra: readonly string[] = [], others: readonly string[] = []) {
  // The path contains spaces on purpose, because the paths of some users do.
  const folder = mkdtempSync(join(tmpdir(), "an empty folder "));
  const modules = join(folder, "node_modules");
  /** Returns the path of an installed command. */
  const bin = (command: string) => join(modules, ".bin", command);
  const install = async (name: string) => {
    const tarball = await shared(name);
    const manifest = readManifest(join(root, name));
    const installed = join(modules, manifest.name);
    mkdirSync(installed, { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
    for (const needed of [...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }), ...extra]) {
      if (existsSync(join(modules, needed))) continue;
      // npm uses the workspace's own folder if another workspace needs a different version of the package.
      const places = [join(root, name, "node_modules", needed), join(root, "node_modules", needed)];
      const found = places.find((place) => existsSync(place));
      if (!found) throw new Error(`${needed} is not installed: run npm ci`);
      link(found, join(modules, needed));
    }
    for (const [command, file] of Object.entries(manifest.bin ?? {})) link(join(installed, file), bin(command));
    return { tarball, installed, manifest };
  };
  const { tarball, installed, manifest } = await install(workspace);
  for (const other of others) await install(other);
  const write = (name: string, content: string | object) =>
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  write("package.json", { type: "module", private: true });
  return {
    folder,
    tarball,
    /** The folder of the unpacked package. */
    installed,
    manifest,
    bin,
    write,
    /** Runs node with these arguments and returns its output. If node fails, the error includes its output. */
    node(args: string[], env: NodeJS.ProcessEnv = {}): string {
      const options = { cwd: folder, encoding: "utf8", env: { ...process.env, ...env }, stdio: "pipe" } as const;
      try {
        return execFileSync(process.execPath, args, options);
      } catch (error) {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        throw new Error(`node ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
