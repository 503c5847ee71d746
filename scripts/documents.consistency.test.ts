// Links between documents lead to files, and no command downloads a package by a name that anybody could register.
import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { pages } from "./docs/pages.ts";

const root = new URL("../", import.meta.url);
const read = (file: string) => readFile(new URL(file, root), "utf8");
const NOT_OWN = new Set(["node_modules", ".git", "dist", "data", "coverage", "reports", "certify-report"]);

/** The names of this project's files that match a pattern. */
function filesOf(pattern: string): string[] {
  const found = globSync(pattern, { cwd: root, exclude: (path) => NOT_OWN.has(basename(path)) });
  expect(found.length).toBeGreaterThan(10);
  return found;
}

test("every link between documents leads to a file, so that it works without a server too", async () => {
  const dead: string[] = [];
  for (const file of filesOf("{*.md,{client,conformance,scripts,server}/**/*.md}")) {
    for (const [, to] of (await read(file)).matchAll(/\]\((?!#|[a-z]+:)([^)#]+)/g)) {
      const target = new URL(to!, pathToFileURL(new URL(file, root).pathname));
      const isPage = pages.some(({ name }) => target.pathname.endsWith(`/docs/${name}.md`));
      if (!isPage && !existsSync(target)) dead.push(`${file}: ${to}`);
    }
  }
  expect(dead).toEqual([]);
});

test("no text lets npm download a package of ours by its name, which anybody could register", async () => {
  const manifests = ["client", "client/mcp", "conformance", "server"].map(
    async (folder) => JSON.parse(await read(`${folder}/package.json`)) as { bin: Record<string, string> },
  );
  const commands = (await Promise.all(manifests)).flatMap(({ bin }) => Object.keys(bin)).join("|");
  const dangerous = [
    new RegExp(`npx (?!--no -- )[^\\n|]*?\\b(?<![/-])(${commands})\\b(?![.-])`),
    /npm (install|i|exec|ci|x)\b[^\n]*["' ]@disbursement-checkout\//,
    /"--package", "@disbursement-checkout\//,
  ];
  const found: string[] = [];
  for (const file of filesOf("{**/*.{ts,js,mjs,md,html,eta,yml,yaml,json},**/Dockerfile}")) {
    if (/CHANGELOG\.md$|package-lock\.json$|documents\.consistency\.test\.ts$/.test(file)) continue;
    const lines = (await read(file)).split("\n");
    const bad = lines.filter((line) => dangerous.some((pattern) => pattern.test(line)));
    found.push(...bad.map((line) => `${file}: ${line.trim().slice(0, 160)}`));
  }
  expect(found).toEqual([]);
});
