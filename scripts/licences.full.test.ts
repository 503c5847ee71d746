import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { packagesOf, problemWith } from "./licences/packages.ts";

const root = new URL("../", import.meta.url);

const packages = await packagesOf(JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")), root);

test("every package that users install has an accepted licence", () => {
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.map(({ name }) => name)).toContain("express");
  expect(packages.map(({ name }) => name)).not.toContain("vitest");
  expect(packages.map(problemWith).filter(Boolean)).toEqual([]);
});

test("a package that is not installed has the licence of the lock file", async () => {
  const lock = { packages: { "node_modules/elsewhere": { version: "1.0.0", license: "GPL-3.0-only" } } };
  const [found] = await packagesOf(lock, root);
  expect(problemWith(found!)).toBe("elsewhere 1.0.0 has the licence GPL-3.0-only, which is not accepted.");
});

test.each([
  ["MIT", true],
  ["(MIT OR GPL-3.0-only)", true],
  ["MIT AND GPL-3.0-only", false],
  ["(MIT OR GPL-3.0-only) AND GPL-2.0-only", false],
  ["SEE LICENSE IN LICENSE", false],
  [undefined, false],
])("the licence %s is accepted: %s", (licence, accepted) => {
  expect(problemWith({ name: "a", version: "1.0.0", licence }) === undefined).toBe(accepted);
});

const names = (all: readonly { name: string; version: string }[]) =>
  new Set(all.map(({ name, version }) => `${name} ${version}`));

test("the bill of materials has exactly these packages", async () => {
  const command = fileURLToPath(new URL("scripts/sbom.ts", root));
  const { stdout } = await promisify(execFile)(process.execPath, [command], { maxBuffer: 2 ** 26 });
  const { components } = JSON.parse(stdout) as { components: { name: string; version: string; purl: string }[] };
  const listed = components.filter(({ purl }) => !purl.includes("disbursement-checkout"));
  expect(names(listed)).toEqual(names(packages));
});
