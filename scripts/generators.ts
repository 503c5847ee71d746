// Proves that popular generators work on generated/openapi.json: each one must produce every operation, and the
// TypeScript ones must type-check. The generators are 140 MB, so they are no part of `npm ci`: this script installs
// them into scripts/generators from the registry.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import document from "../generated/openapi.json" with { type: "json" };

interface Generator {
  name: string;
  /** The binary in scripts/generators and its arguments; they are run in the output folder. */
  command: [string, ...string[]];
  /** The generated file that has all operations. */
  file: string;
  /** What that file contains for each operation. */
  mark(operation: Operation): string;
}
interface Operation {
  operationId: string;
  summary: string;
}

const home = fileURLToPath(new URL("generators", import.meta.url));
const spec = fileURLToPath(new URL("../generated/openapi.json", import.meta.url));
const operations = Object.values(document.paths).flatMap((item) => Object.values<Operation>(item));

const generators: Generator[] = [
  {
    name: "@hey-api/openapi-ts",
    command: ["openapi-ts", "--input", spec, "--output", "hey-api", "--no-log-file"],
    file: "hey-api/sdk.gen.ts",
    mark: ({ operationId }) => `export const ${operationId} = `,
  },
  {
    name: "orval",
    command: ["orval", "--input", spec, "--output", "orval/index.ts", "--client", "fetch", "--fail-on-warnings"],
    file: "orval/index.ts",
    mark: ({ operationId }) => `export const ${operationId} = `,
  },
  {
    name: "openapi-to-postmanv2",
    command: ["openapi2postmanv2", "--spec", spec, "--output", "postman.json"],
    file: "postman.json",
    mark: ({ summary }) => `"name":${JSON.stringify(summary)},"request":`,
  },
];

const compilerOptions = {
  target: "es2024",
  lib: ["es2024", "dom", "dom.iterable"],
  module: "esnext",
  moduleResolution: "bundler",
  types: [],
  strict: true,
  noEmit: true,
};

const run = (command: string, args: string[], cwd: string) => execFileSync(command, args, { cwd, stdio: "inherit" });

function generate({ name, command: [binary, ...args], file, mark }: Generator, folder: string) {
  console.log(`\n${name}`);
  run(join(home, "node_modules/.bin", binary), args, folder);
  const text = readFileSync(join(folder, file), "utf8");
  const missing = operations.filter((operation) => !text.includes(mark(operation)));
  if (missing.length > 0) {
    throw new Error(`${name} generated nothing for ${missing.map(({ operationId }) => operationId).join(", ")}`);
  }
}

console.log("Installing the generators from the npm registry into scripts/generators …");
run("npm", ["ci", "--prefer-offline"], home);

const folder = mkdtempSync(join(tmpdir(), "generators-"));
try {
  for (const generator of generators) generate(generator, folder);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts"] }));
  run("tsc", ["--project", folder], folder);
  console.log(
    `\nAll ${generators.length} generators produced all ${operations.length} operations; the TypeScript compiles.`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
