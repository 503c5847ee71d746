// Writes the JavaScript, types and source maps of the published package to dist/, and the licence beside dist/.
// dist/cjs/ has the same code as CommonJS, for programs that cannot load ES modules. tsconfig.build.json excludes
// Node's types, so that code which needs Node does not compile. Only the file journal and the command have them, in
// tsconfig.journal.json.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const dist = here("dist");
rmSync(dist, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
for (const config of ["tsconfig.journal.json", "tsconfig.build.json"]) {
  execFileSync(process.execPath, [tsc, "-p", here(config), "--outDir", dist], { stdio: "inherit" });
}
// Names and folders stay the same, so that the types fit both.
const files = readdirSync(dist, { recursive: true }).map(String);
for (const name of files.filter((file) => /\.(js|d\.ts)$/.test(file))) {
  const text = readFileSync(join(dist, name), "utf8");
  const target = join(dist, "cjs", name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, name.endsWith(".js") ? transformSync(text, { format: "cjs", target: "es2022" }).code : text);
}
chmodSync(join(dist, "client/payroll/bin.js"), 0o755);
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs" }\n');
copyFileSync(here("../LICENSE"), here("LICENSE"));
