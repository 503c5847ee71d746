// Every action of the audit trail is recorded somewhere, and every section of the navigation has a page.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(folder, path), "utf8");
const code = globSync("**/*.ts", { cwd: folder, exclude: (name) => name === "node_modules" || name === "testing" })
  .filter((path) => !path.includes(".test."))
  .map((path) => ({ path, text: read(path) }));

test("the server records every action that has words", () => {
  const actions = [...read("http/dashboard/audit-words.ts").matchAll(/^ {2}"(\w+\.[\w-]+)": "/gm)].map(
    ([, name]) => name!,
  );
  const recording = code.filter(({ path }) => !path.endsWith("domain/audit.ts") && !path.endsWith("audit-words.ts"));
  // Some actions are put together from a word and a verb.
  const isRecorded = (action: string) =>
    recording.some(({ text }) => text.includes(`"${action}"`) || text.includes(`\`${action.split(".")[0]}.\${`));
  expect(actions.filter((action) => !isRecorded(action))).toEqual([]);
});

test("each section of the navigation has a page", () => {
  const [, sections, operators] = /const SECTIONS = \{([^}]+)\}[^]*?const OPERATOR_SECTIONS = \{([^]+?)\n\}/.exec(
    read("http/dashboard/show-page.ts"),
  )!;
  const names = [...`${sections}${operators}`.matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name!);
  const pages = code.filter(({ path }) => /http\/dashboard\/(?!show-page)/.test(path)).map(({ text }) => text);
  const isNamed = (name: string) => pages.some((text) => text.includes(`"${name}"`));
  expect([...new Set(names)].filter((name) => !isNamed(name))).toEqual([]);
});
