// `npm run licences`: lists the licences of all packages that users install, and fails on one that is not accepted.
import { readFile } from "node:fs/promises";
import { packagesOf, problemWith, type Package } from "./licences/packages.ts";

const root = new URL("../", import.meta.url);
const packages = await packagesOf(JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")), root);

const byLicence = new Map<string, Package[]>();
for (const each of packages) {
  const licence = each.licence ?? "unknown";
  byLicence.set(licence, [...(byLicence.get(licence) ?? []), each]);
}
for (const [licence, group] of [...byLicence].toSorted()) {
  console.log(`${licence} (${group.length}): ${group.map(({ name, version }) => `${name} ${version}`).join(", ")}\n`);
}
const problems = packages.map(problemWith).filter((problem) => problem !== undefined);
for (const problem of problems) console.error(problem);
console.log(`${packages.length} packages, ${problems.length} with a licence that is not accepted.`);
if (problems.length > 0) process.exitCode = 1;
