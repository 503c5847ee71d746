// Writes dist/, the content of the published package: JavaScript, types and licence. tsconfig.build.json excludes Node's
// types, so that code which needs Node does not compile. Only the file journal has them, in tsconfig.journal.json.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

rmSync(here("dist"), { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
for (const config of ["tsconfig.journal.json", "tsconfig.build.json"]) {
  execFileSync(process.execPath, [tsc, "-p", here(config)], { stdio: "inherit" });
}
copyFileSync(here("../LICENSE"), here("dist/LICENSE"));
