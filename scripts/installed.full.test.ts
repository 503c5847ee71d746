// Users install only packages with a licence that allows use in closed and open software, and only requires that its text
// is kept (`npm sbom` lists them), and the README's run command installs no tools.
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

interface Locked {
  version?: string;
  license?: unknown;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  link?: boolean;
}

const root = new URL("../", import.meta.url);
const { packages } = JSON.parse(await readFile(new URL("package-lock.json", root), "utf8")) as {
  packages: Record<string, Locked>;
};
/** The packages that users install: their paths, and their entries in the lock file. */
const installed = Object.entries(packages).filter(
  ([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link,
);

const ACCEPTED = /^(?:0BSD|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|ISC|MIT|Python-2\.0|Unlicense|WTFPL)$/;
/** Packages whose declaration is missing or outdated. Their files name a licence that is accepted. */
const READ_BY_HAND = new Set(["cycle 1.0.3", "html 1.0.0", "optimist 0.6.1"]);

/** A package's own declaration, or the lock file's if the package is not installed on this platform. */
async function licenceOf(path: string, { license }: Locked): Promise<string> {
  const manifest = await readFile(new URL(`${path}/package.json`, root), "utf8").then(JSON.parse, () => ({}));
  const declared = manifest.license ?? manifest.licenses ?? license;
  // Some old packages have a list of licences to choose from.
  return Array.isArray(declared) ? declared.map((each) => each.type ?? each).join(" OR ") : String(declared);
}

/** Of licences with OR one accepted licence is enough, of licences with AND all must be accepted. */
function isAccepted(expression: string): boolean {
  const names = expression.replaceAll(/[()]/g, "").split(/ (?:OR|AND) /);
  const accepted = names.filter((name) => ACCEPTED.test(name));
  return accepted.length >= (expression.includes(" AND ") ? names.length : 1);
}

test("every package that users install has an accepted licence", async () => {
  expect(installed.length).toBeGreaterThan(100);
  const refused: string[] = [];
  for (const [path, locked] of installed) {
    const name = `${path.split("node_modules/").at(-1)} ${locked.version}`;
    const licence = await licenceOf(path, locked);
    if (!READ_BY_HAND.has(name) && !isAccepted(licence)) refused.push(`${name}: ${licence}`);
  }
  expect(refused).toEqual([]);
});

test("`npm ci --omit=dev --omit=optional` installs one Node and no tools", () => {
  const paths = installed.filter(([, { optional, devOptional }]) => !optional && !devOptional).map(([path]) => path);
  const tools = /dredd|prism|vitest|typescript$|playwright|chromium|postgres$|bun|deno|workerd|esbuild/;
  expect(paths.filter((path) => tools.test(path))).toEqual([]);
  expect(paths.filter((path) => path.endsWith("node_modules/node"))).toEqual(["node_modules/node"]);
  expect(paths.length).toBeLessThan(200);
});

test("`npm ci --omit=dev` installs what makes the pages, which it does at its end", async () => {
  const sources = await Promise.all(
    globSync("scripts/docs/*.ts", { cwd: root }).map((file) => readFile(new URL(file, root), "utf8")),
  );
  const names = sources.join("\n").matchAll(/ from "((?!node:)\w[^/"]*)/g);
  const dev = [...names].map(([, name]) => name!).filter((name) => packages[`node_modules/${name}`]!.dev);
  expect(dev).toEqual([]);
});
