// What all documents together must keep.
import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const FOR_USERS = ["README.md", "server/docs/*.md", "{client,client/mcp,conformance}/*.md", "scripts/docs/samples/*"];

test("no two documents use the same reference, which works once", async () => {
  const users = new Map<string, Set<string>>();
  for await (const file of glob(FOR_USERS, { cwd: root })) {
    const text = await readFile(`${root}${file}`, "utf8");
    for (const [, reference] of text.matchAll(/["']?\breference["']?(?::|\s=>) ?["']([^"'…$]+)["']/g)) {
      users.set(reference!, (users.get(reference!) ?? new Set()).add(file));
    }
  }
  expect(users.size).toBeGreaterThan(15);
  // The page of problems shows what a second use of the tutorial's reference means.
  const repeated = [...users].filter(([reference, files]) => files.size > 1 && reference !== "tutorial-1");
  expect(repeated.map(([reference, files]) => `${reference}: ${[...files].join(", ")}`)).toEqual([]);
});

test("the README is short", async () => {
  expect((await readFile(`${root}README.md`, "utf8")).trimEnd().split("\n").length).toBeLessThanOrEqual(120);
});

test("no document installs a package of this project from the registry, where it is not published yet", async () => {
  const found: string[] = [];
  for await (const file of glob(["README.md", "server/README.md", ...FOR_USERS], { cwd: root })) {
    const commands = (await readFile(`${root}${file}`, "utf8")).match(
      /npm (install|i|add)\b.*@disbursement-checkout.*/g,
    );
    found.push(...(commands ?? []).map((command) => `${file}: ${command}`));
  }
  expect(found).toEqual([]);
});

test("every link between documents leads to a file, so that it works without a server too", async () => {
  const dead: string[] = [];
  for await (const file of glob(["*.md", "{client,conformance,server}/**/*.md"], {
    cwd: root,
    exclude: (name) => name === "node_modules",
  })) {
    const url = new URL(file, `file://${root}`);
    for (const [, to] of (await readFile(url, "utf8")).matchAll(/\]\((?!#|[a-z]+:)([^)#]+)/g)) {
      if (!existsSync(new URL(to!, url))) dead.push(`${file}: ${to}`);
    }
  }
  expect(dead).toEqual([]);
});
