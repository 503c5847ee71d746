import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { packagesOf, problemWith } from "./licences/packages.ts";

const root = new URL("../", import.meta.url);

test("every package that users install has an accepted licence", async () => {
  const packages = await packagesOf(JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")), root);
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.map(({ name }) => name)).toContain("express");
  expect(packages.map(({ name }) => name)).not.toContain("vitest");
  expect(packages.map(problemWith).filter(Boolean)).toEqual([]);
});

test("a package that is not installed has the licence of the lock file", async () => {
  const packages = { "node_modules/elsewhere": { version: "1.0.0", license: "GPL-3.0-only" } };
  const [found] = await packagesOf({ packages }, root);
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
