// Links in documents lead somewhere, the documents stay short, and no command downloads a package by a name that anybody could register.
import { existsSync, globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { docsFiles } from "./docs/files.ts";
import { slug } from "./docs/html.ts";

const root = new URL("../", import.meta.url);
const read = (file: string) => readFile(new URL(file, root), "utf8");
const NOT_OWN = new Set(["node_modules", ".git", "dist", "data", "coverage", "reports", "certify-report"]);

/** The names of this project's files that match a pattern. */
function filesOf(pattern: string): string[] {
  const found = globSync(pattern, { cwd: root, exclude: (path) => NOT_OWN.has(basename(path)) });
  expect(found.length).toBeGreaterThan(10);
  return found;
}

const documents = filesOf("{*,.github/*,{client,conformance,scripts,server}/**/*}.md");
const texts = new Map(await Promise.all(documents.map(async (file) => [file, await read(file)] as const)));
const headingsOf = (text: string) => [...text.matchAll(/^#+ (.+)/gm)].map(([, heading]) => slug(heading!));

test("every link in a document leads to a file, or to a page of the server, and to a heading that exists", async () => {
  const served = await docsFiles(JSON.parse(await read("generated/openapi.json")));
  const dead: string[] = [];
  for (const [file, text] of texts) {
    for (const [, to] of text.matchAll(/\]\(((?!https:)[^)]+)/g)) {
      const [, page] = /^http:\/\/127\.0\.0\.1:3000\/(?:docs\/)?([^#]+)/.exec(to!) ?? [];
      const [path = "", id] = to!.split("#");
      const target = normalize(join(dirname(file), path));
      const found = page
        ? (served[`${page}.md`] ?? served[page])
        : path === ""
          ? text
          : (texts.get(target) ?? (existsSync(new URL(target, root)) ? "" : undefined));
      if (found === undefined || (id && !headingsOf(found).includes(id))) dead.push(`${file}: ${to}`);
    }
  }
  expect(dead).toEqual([]);
});

test("the documents are short enough to be read", () => {
  const wordsIn = (text: string) => text.split(/\s+/).filter(Boolean).length;
  const words = (file: string) => wordsIn(texts.get(file)!);
  expect(words("README.md")).toBeLessThanOrEqual(600);
  const ways = ["server/docs/merchants", "conformance/docs/platforms", "server/docs/operators", "ARCHITECTURE"];
  for (const way of ways) expect.soft(words(`${way}.md`), way).toBeLessThanOrEqual(1_200);
  expect(documents.reduce((sum, file) => sum + words(file), 0)).toBeLessThanOrEqual(22_000);
  const decisions = texts
    .get("DECISIONS.md")!
    .split(/^## .+/m)
    .slice(1);
  expect(decisions.length).toBeLessThanOrEqual(50);
  expect(Math.max(...decisions.map(wordsIn))).toBeLessThanOrEqual(80);
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
