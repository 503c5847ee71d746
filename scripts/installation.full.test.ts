// The README's run command installs only the ordinary dependencies. The commands of the server must import no other
// package.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

interface Locked {
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  link?: boolean;
}

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };

/** The commands that work after the README's run command. */
const COMMANDS = ["start", "keys", "db", "listen", "trigger", "receiver"];
const RUN = "npm ci --omit=dev --omit=optional && npm start";

/** True for a call whose argument names a module: import(), require(), require.resolve(). */
function namesModule(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node)) return false;
  const { expression } = node;
  if (expression.kind === ts.SyntaxKind.ImportKeyword) return true;
  if (ts.isIdentifier(expression)) return expression.text === "require";
  const isMember = ts.isPropertyAccessExpression(expression) && expression.name.text === "resolve";
  return isMember && /require|import\.meta/.test(expression.expression.getText());
}

/** Returns the modules that a file loads. Imports of types do not exist when the file runs. */
function importsOf(file: string): string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  function visit(node: ts.Node): void {
    const isType =
      (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) ||
      (ts.isExportDeclaration(node) && node.isTypeOnly);
    const isStatic = (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && !isType;
    const name = isStatic ? node.moduleSpecifier : namesModule(node) ? node.arguments[0] : undefined;
    if (name && ts.isStringLiteral(name)) found.push(name.text);
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found;
}

/** Returns each package that the files load, directly or through another file of the project, with the file. */
function packagesFrom(entries: readonly string[]): Map<string, string> {
  const packages = new Map<string, string>();
  const files = new Set(entries);
  for (const file of files) {
    for (const name of importsOf(file)) {
      if (name.startsWith(".")) {
        const path = relative(root, join(root, dirname(file), name));
        if (/\.[jt]s$/.test(path)) files.add(path);
      } else if (!name.startsWith("node:")) packages.set(/^(@[^/]+\/)?[^/]+/.exec(name)![0], file);
    }
  }
  return packages;
}

/** Returns the entry of the lock file for a package, as Node finds it from a file. */
function lockedFor(name: string, file: string): Locked | undefined {
  const places = [join(file.split("/")[0]!, "node_modules", name), join("node_modules", name)];
  return places.map((place) => lock.packages[place]).find((found) => found !== undefined);
}

const isOrdinary = (locked?: Locked) => !!locked && !locked.dev && !locked.optional && !locked.devOptional;

test("the commands of the server load only packages that the run command installs", () => {
  const entries = COMMANDS.map((command) => /node (?:--\S+ )*(\S+\.ts)/.exec(scripts[command]!)![1]!);
  const packages = packagesFrom(entries);
  expect([...packages.keys()]).toEqual(expect.arrayContaining(["express", "pg", "eta"]));
  const missing = [...packages].filter(([name, file]) => !isOrdinary(lockedFor(name, file)));
  expect(missing, "make each an ordinary dependency of the workspace, or do not import it").toEqual([]);
});

test("the server loads only packages that its own package.json names", () => {
  const { dependencies } = JSON.parse(read("server/package.json")) as { dependencies: Record<string, string> };
  const packages = packagesFrom(["server/main.ts", "server/cli.ts"]);
  expect(packages.size).toBeGreaterThan(10);
  expect([...packages].filter(([name]) => !(name in dependencies))).toEqual([]);
});

test("the run command installs one Node and no tools", () => {
  const installed = Object.entries(lock.packages)
    .filter(([path, locked]) => path.includes("node_modules/") && !locked.link && isOrdinary(locked))
    .map(([path]) => path);
  const tools = /dredd|prism|vitest|typescript$|playwright|chromium|postgres$|bun|deno|workerd|esbuild/;
  expect(installed.filter((path) => tools.test(path))).toEqual([]);
  expect(installed.filter((path) => path.endsWith("node_modules/node"))).toEqual(["node_modules/node"]);
  expect(installed.length).toBeLessThan(200);
});

test.each(["README.md", "server/README.md"])("%s shows the run command", (file) => {
  expect(read(file)).toContain(RUN);
});
