// Builds the published package. npm runs this script before packing. The layout of dist/ mirrors the repository, so
// that the compiled suite finds the contract under the same relative paths as its sources do.
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { catalogueFile } from "./contract/contract.ts";
import { sides } from "./results.ts";

const here = import.meta.dirname;
const dist = join(here, "dist");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: here, stdio: "inherit" });
const catalogues = [undefined, ...sides].map(catalogueFile);
for (const file of ["LICENSE", ...catalogues, "generated/openapi.json"]) {
  cpSync(join(here, "..", file), join(dist, file));
}
for (const data of [
  "allowances/certify.schema.json",
  "programs/client/protocol.schema.json",
  "vectors/webhooks.json",
]) {
  cpSync(join(here, data), join(dist, "conformance", data));
}
cpSync(join(here, "report/templates"), join(dist, "conformance/report/templates"), { recursive: true });
