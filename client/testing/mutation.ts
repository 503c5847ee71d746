// `npm run mutation -w client [-- NAME …]`: mutation testing with Stryker of these files, or of all. Prints the surviving
// mutants and the score. It installs Stryker from the npm registry into a temporary project and takes some minutes, so
// `npm test` does not run it.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import client from "../package.json" with { type: "json" };
import root from "../../package.json" with { type: "json" };

const tests = [
  "checkouts",
  "client",
  "diagnosis",
  "fake-service",
  "doubt",
  "gateways",
  "hooks",
  "if-exists",
  "journal",
  "limiter",
  "limits",
  "list",
  "lookup",
  "money",
  "pay",
  "payroll",
  "pool",
  "receiver",
  "recovery",
  "retry",
  "secrets",
  "two-calls",
  "wait",
  "webhooks",
  "wire",
];
const sources = [
  "attempt",
  "client",
  "errors",
  "express",
  "fake-service",
  "fastify",
  "fetch",
  "hono",
  "journal",
  "json",
  "limiter",
  "list",
  "memory",
  "money",
  "pay",
  "payroll-file",
  "options",
  "outcome",
  "payroll",
  "pool",
  "receiver",
  "recovery",
  "result",
  "retry",
  "runtime",
  "secrets",
  "transport",
  "verify",
  "webhooks",
  "words",
];

const stryker = {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  mutate: (process.argv.length > 2 ? process.argv.slice(2) : sources).map((name) => `client/${name}.ts`),
  reporters: ["clear-text", "progress-append-only"],
  clearTextReporter: { allowColor: false, logTests: false },
  coverageAnalysis: "perTest",
  // A mutant outside any function (a constant or a table) needs a run of all tests. These few mutants are left out.
  ignoreStatic: true,
  concurrency: 2,
  vitest: { configFile: "vitest.config.ts" },
};
const include = tests.map((name) => `client/${name}.test.ts`);
const packages = [
  "@stryker-mutator/core@10",
  "@stryker-mutator/vitest-runner@10",
  `vitest@${root.devDependencies.vitest}`,
  `typescript@${root.devDependencies.typescript}`,
  `openapi-fetch@${client.dependencies["openapi-fetch"]}`,
  `express@${root.devDependencies.express}`,
  ...(["fastify", "hono", "@hono/node-server", "standardwebhooks"] as const).map(
    (name) => `${name}@${client.devDependencies[name]}`,
  ),
];

const folder = mkdtempSync(join(tmpdir(), "client-mutation-"));
try {
  for (const path of ["client", "generated", "conformance/vectors/webhooks.json", "tsconfig.json"]) {
    const from = fileURLToPath(new URL(`../../${path}`, import.meta.url));
    cpSync(from, join(folder, path), { recursive: true, filter: (file) => !/\/(dist|node_modules)$/.test(file) });
  }
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("package.json", JSON.stringify({ private: true, type: "module" }));
  write("stryker.config.json", JSON.stringify(stryker));
  write("vitest.config.ts", `export default ${JSON.stringify({ test: { include, testTimeout: 60_000 } })};`);
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: folder, stdio: "inherit" });
  run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages);
  run("npx", "stryker", "run");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
