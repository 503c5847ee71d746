// The package as npm would publish it, installed in an empty project.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const client = fileURLToPath(new URL("..", import.meta.url));
const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

export interface Project {
  folder: string;
  tarball: string;
  /** Where the package lies in it. */
  installed: string;
  write(name: string, content: string | object): void;
  /** Runs node with these arguments and gives what it prints; an error holds the output of a failure. */
  node(args: string[], env?: NodeJS.ProcessEnv): string;
  remove(): void;
}

/** @param links Packages beside it, taken from this repository instead of the registry. */
export function installPacked(links: string[]): Project {
  const folder = mkdtempSync(join(tmpdir(), "client-package-"));
  const run = (command: string, args: string[], cwd = folder) =>
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" });
  const packed = run("npm", ["pack", "--json", "--pack-destination", folder], client);
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf("[")));
  const tarball = join(folder, filename);
  const installed = join(folder, "node_modules/@disbursement-checkout/client");
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  for (const name of links) {
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

/** The compiler of this repository. */
export const tsc = join(modules, "typescript/bin/tsc");
