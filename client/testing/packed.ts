// Installs the package in an empty project, exactly as npm would publish it.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const client = fileURLToPath(new URL("..", import.meta.url));
export const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

export interface Project {
  folder: string;
  tarball: string;
  /** The folder of the unpacked package. */
  installed: string;
  write(name: string, content: string | object): void;
  /** Runs node with these arguments and returns its output. If node fails, the error includes its output. */
  node(args: string[], env?: NodeJS.ProcessEnv): string;
  remove(): void;
}

/**
 * Packs the client, unpacks the tarball into an empty project and links the dependencies that the packed package.json
 * declares from this repository's node_modules. Nothing reads the npm cache or asks the registry.
 *
 * @param extra Other packages to link, for code in the project that imports them.
 */
export function installPacked(extra: string[] = []): Project {
  const folder = mkdtempSync(join(tmpdir(), "client-package-"));
  const tarball = pack(folder);
  const installed = join(folder, "node_modules/@disbursement-checkout/client");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed], { stdio: "pipe" });
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), ...extra]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(modules, name), link);
  }
  const project: Project = {
    folder,
    tarball,
    installed,
    write(name, content) {
      writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
    },
    node: (args, env = {}) => {
      try {
        return execFileSync(process.execPath, args, {
          cwd: folder,
          encoding: "utf8",
          env: { ...process.env, ...env },
          stdio: "pipe",
        });
      } catch (error) {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        throw new Error(`node ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  project.write("package.json", { type: "module", private: true });
  return project;
}

/** The TypeScript compiler of this repository. */
export const tsc = join(modules, "typescript/bin/tsc");

/**
 * Builds the package in a folder of its own, because tests that run at the same time would overwrite each other's dist/,
 * and packs it. npm gets an empty cache and no network, so that the result depends on the repository alone.
 */
function pack(folder: string): string {
  const source = join(folder, "source");
  mkdirSync(source);
  for (const name of ["package.json", "README.md", "CHANGELOG.md"])
    copyFileSync(join(client, name), join(source, name));
  execFileSync(process.execPath, [join(client, "build.ts"), source], { stdio: "pipe" });
  const args = ["pack", "--json", "--offline", "--ignore-scripts", "--pack-destination", folder];
  const env = { ...process.env, npm_config_cache: join(folder, "npm-cache"), npm_config_update_notifier: "false" };
  const output = execFileSync("npm", args, { cwd: source, encoding: "utf8", env, stdio: "pipe" });
  const [{ filename }] = JSON.parse(output.slice(output.indexOf("[")));
  return join(folder, filename);
}
