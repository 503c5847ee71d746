// Writes dist/, which is what the published package holds: JavaScript, types, licence. No Node types are in reach of
// the compiler here, so that a use of them does not build.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

rmSync(here("dist"), { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "-p", here("tsconfig.build.json")], { stdio: "inherit" });
copyFileSync(here("../LICENSE"), here("dist/LICENSE"));
