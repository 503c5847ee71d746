// Builds the published package. npm runs this script before packing. The layout of dist/ mirrors the repository, so
// that the compiled server finds the contract and its other files under the same relative paths as its sources do.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import ts from "typescript";

const here = import.meta.dirname;
const root = join(here, "..");
const dist = join(here, "dist");

rmSync(dist, { recursive: true, force: true });
// The repository's command line must not run an old build.
if (!process.argv.includes("--clean")) await build();

async function build(): Promise<void> {
  await import("../scripts/docs.ts");
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  // The second configuration writes the types for operators' rails and merchants' tests.
  for (const config of ["tsconfig.build.json", "tsconfig.rail.json"])
    execFileSync(process.execPath, [tsc, "-p", config, "--outDir", dist], { cwd: here, stdio: "inherit" });
  for (const name of ["LICENSE", "spec/openapi.yaml", "generated/openapi.json", "generated/docs"]) {
    cpSync(join(root, name), join(dist, name), { recursive: true });
  }
  writeCommonJs();
  // The files that the server reads at run time besides its code. Each entry is copied by itself, because dist/ may be
  // in this folder, and Node refuses to copy a folder into itself.
  const others = /^(node_modules|dist|deploy|docs|testing|README\.md|bin\.js)/;
  const assets = /\.(sql|eta|css|svg|js)$/;
  for (const entry of readdirSync(here).filter((name) => !others.test(name))) {
    cpSync(join(here, entry), join(dist, "server", entry), {
      recursive: true,
      filter: (source) => !/\.\w+$/.test(relative(here, source)) || assets.test(source),
    });
  }
}

/** Writes what merchants' tests import as CommonJS too, because jest loads nothing else. It starts the same thread. */
function writeCommonJs(): void {
  const source = readFileSync(join(dist, "server/sandbox/index.js"), "utf8");
  const file = '__filename.replace(/cjs$/, "js")';
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source.replace("import.meta.filename", file), { compilerOptions });
  writeFileSync(join(dist, "server/sandbox/index.cjs"), outputText);
  for (const name of ["server/sandbox/index", "generated/models"]) {
    const types = readFileSync(join(dist, `${name}.d.ts`), "utf8");
    writeFileSync(join(dist, `${name}.d.cts`), types.replace("models.js", "models.cjs"));
  }
}
