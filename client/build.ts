// Writes the JavaScript, types and source maps of the published package to dist/, and the licence beside it: in this
// folder, or in the folder that is passed. tsconfig.build.json excludes Node's types, so that code which needs Node does
// not compile. Only the file journal has them, in tsconfig.journal.json.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const folder = process.argv[2] ?? here(".");
const dist = join(folder, "dist");
rmSync(dist, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
for (const config of ["tsconfig.journal.json", "tsconfig.build.json"]) {
  execFileSync(process.execPath, [tsc, "-p", here(config), "--outDir", dist], { stdio: "inherit" });
}
copyFileSync(here("../LICENSE"), join(folder, "LICENSE"));
