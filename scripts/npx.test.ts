import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const packages = ["client", "client/mcp", "conformance", "server"].map(
  (folder) =>
    JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
      name: string;
      bin: Record<string, string>;
    },
);
const commands = packages.flatMap(({ bin }) => Object.keys(bin)).join("|");
const scope = packages[0]!.name.split("/")[0]!;

/** What downloads a package that anybody could register under the name of ours, and runs it with the reader's keys. */
const dangerous = [
  new RegExp(`npx (?!--no -- )[^\\n|]*?\\b(?<![/-])(${commands})\\b(?![.-])`),
  new RegExp(`npm (install|i|exec|ci|x)\\b[^\\n]*["' ]${scope}/`),
  new RegExp(`"--package", "${scope}/`),
];

const skipped =
  /(^|\/)(node_modules|\.git|dist|fr|certify-report)(\/|$)|CHANGELOG\.md$|package-lock\.json$|npx\.test\.ts$/;
const read = /\.(ts|js|mjs|md|html|eta|ya?ml|json)$|Dockerfile$/;

/** Returns the paths of the files below a folder, without those of other projects. */
function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (skipped.test(path)) return [];
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() && read.test(path) ? [path] : [];
  });
}

test("no text lets npm download a package of ours by its name", () => {
  const lines = filesIn(".").flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, index) =>
        dangerous.some((pattern) => pattern.test(line)) ? [`${file}:${index + 1}: ${line.trim().slice(0, 160)}`] : [],
      ),
  );
  expect(lines).toEqual([]);
});
