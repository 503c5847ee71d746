import { execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import type { BrowserServer } from "playwright-core";
import { startPostgres } from "../../server/testing/own-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of what test files share. */
    shared: string;
  }
}

const root = join(import.meta.dirname, "../..");
const NO_SOURCES = new Set(["node_modules", "dist", ".git", "data", "coverage", "certify-report"]);

/**
 * Copies the files from which packages are built. npm builds in the folder that it packs, so a copy keeps the build
 * away from tests that run at the same time.
 */
function copyRepository(copy: string) {
  const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { workspaces: string[] };
  cpSync(root, copy, { recursive: true, filter: (path) => !NO_SOURCES.has(basename(path)) });
  for (const name of ["", ...workspaces]) {
    const modules = join(root, name, "node_modules");
    if (existsSync(modules)) symlinkSync(modules, join(copy, name, "node_modules"));
  }
}

/** Packs a workspace as `npm publish` does, with an empty cache and no network. Returns the path of the tarball. */
async function pack(folder: string, workspace: string): Promise<string> {
  const copy = join(folder, "repository");
  if (!existsSync(copy)) copyRepository(copy);
  const env = { ...process.env, npm_config_cache: join(folder, "npm-cache"), npm_config_update_notifier: "false" };
  const args = ["pack", "--offline", "--pack-destination", mkdtempSync(join(folder, "packed "))];
  await promisify(execFile)("npm", args, { cwd: join(copy, workspace), env });
  const [tarball] = readdirSync(args.at(-1)!);
  return join(args.at(-1)!, tarball!);
}

/**
 * Provides the resources that test files share: the addresses of a PostgreSQL server and of a browser, and the path of
 * each packed workspace. A resource is made when the first test file asks for it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(join(root, "generated/docs"))) await import("../docs.ts");
  const folder = mkdtempSync(join(tmpdir(), "shared by tests "));
  let postgres: ChildProcess | undefined;
  let browser: BrowserServer | undefined;
  const resources = new Map<string, Promise<string>>();

  async function make(name: string): Promise<string> {
    if (name === "browser") {
      const { launchSharedBrowser } = await import("../browser.ts");
      browser = await launchSharedBrowser();
      return browser.wsEndpoint();
    }
    if (name !== "postgres") return pack(folder, name);
    const running = await startPostgres();
    postgres = running.child;
    return running.url;
  }

  const server = createServer(async ({ url }, response) => {
    const name = url!.slice(1);
    const result = resources.get(name) ?? make(name);
    resources.set(name, result);
    try {
      response.end(await result);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  project.provide("shared", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);

  return async () => {
    server.close();
    await browser?.close();
    rmSync(folder, { recursive: true });
    if (postgres?.exitCode !== null) return;
    postgres.stdin!.end();
    await once(postgres, "exit");
  };
}
