// Builds the published package, which contains the client that it uses. npm runs this script before packing.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const here = import.meta.dirname;
const dist = join(here, "dist");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: here, stdio: "inherit" });
chmodSync(join(dist, "client/mcp/bin.js"), 0o755);
cpSync(join(here, "../../LICENSE"), join(dist, "LICENSE"));
