// Keeps DECISIONS.md readable, and its numbers valid where the project cites them.
import { glob, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const text = await readFile(join(root, "DECISIONS.md"), "utf8");

const MAX_WORDS = 120;
const NOT_OWN = new Set(["node_modules", "dist", "data", "coverage", "reports", "certify-report"]);
const TEXTS = "{spec,server,client,conformance}/**/*.{ts,md,yaml,yml,sql,eta,css,js,mjs,py,go,php}";

/** The entries by number, each without its heading and its date. */
const entries = text
  .split(/^## /m)
  .slice(1)
  .map((entry) => ({ number: entry.split(" ")[0]!, body: entry.replace(/^.*\n\n20\d\d-.*\n/, "") }));

const known = new Set(entries.map(({ number }) => number));

const wordsIn = (body: string) => body.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;

test.each(entries)("$number has at most 120 words", ({ body }) => {
  expect(wordsIn(body)).toBeGreaterThan(20);
  expect(wordsIn(body)).toBeLessThanOrEqual(MAX_WORDS);
});

test("every number is used once, and the table of topics has exactly these numbers", () => {
  const numbers = entries.map(({ number }) => number);
  expect(numbers.filter((number, index) => !/^D\d+a?$/.test(number) || numbers.indexOf(number) !== index)).toEqual([]);
  const listed = text
    .split("\n## ")[0]!
    .match(/^\|.*\bD\d.*$/gm)!
    .join()
    .match(/\bD\d+a?\b/g)!;
  expect([...new Set(listed)].toSorted()).toEqual(numbers.toSorted());
});

test("every decision that the project cites exists", async () => {
  const unknown = [];
  let cited = 0;
  const files = glob(TEXTS, { cwd: root, exclude: (path) => NOT_OWN.has(basename(path)) });
  for await (const file of files) {
    for (const [number] of (await readFile(join(root, file), "utf8")).matchAll(/\bD\d{1,3}a?\b/g)) {
      cited++;
      if (!known.has(number)) unknown.push(`${file}: ${number}`);
    }
  }
  expect(unknown).toEqual([]);
  expect(cited).toBeGreaterThan(100);
});

test("every decision that an entry cites exists", () => {
  expect((text.match(/\bD\d+a?\b/g) ?? []).filter((number) => !known.has(number))).toEqual([]);
});
