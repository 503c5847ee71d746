// `npm run sbom`: prints the packages that users install as a software bill of materials in the CycloneDX format. npm
// writes the list. Its option --omit=dev would leave out packages that a workspace needs if the root lists them for
// development too, such as express, so packages for development only are removed here.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { packagesOf } from "./licences/packages.ts";

interface Bill {
  components: { "bom-ref": string; name: string; version: string; purl: string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const root = new URL("../", import.meta.url);
const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"];
const { stdout } = await promisify(execFile)("npm", args, { cwd: fileURLToPath(root), maxBuffer: 2 ** 26 });
const bill = JSON.parse(stdout) as Bill;

const packages = await packagesOf(JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")), root);
const used = new Set(packages.map(({ name, version }) => `${name} ${version}`));
const components = bill.components.filter(
  ({ name, version, purl }) => used.has(`${name} ${version}`) || purl.startsWith("pkg:npm/%40disbursement-checkout/"),
);
const kept = new Set(components.map((component) => component["bom-ref"]));
const dependencies = bill.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
console.log(JSON.stringify({ ...bill, components, dependencies }, null, 2));
