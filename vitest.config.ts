import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// The processes that tests start take most of their time to compile the same modules.
process.env.NODE_COMPILE_CACHE ??= resolve("node_modules/.cache/node");

const all = "{spec,scripts,server,client,conformance}/**/*.test.ts";
const consistency = "**/*.consistency.test.ts";
const full = "**/*.full.test.ts";
const foreign = "**/node_modules/**";

const sizeOf = ({ moduleId }: TestSpecification) => statSync(moduleId).size;

/** Starts with the shortest files, because those that run whole programs are short and take longest. */
class ShortestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return files.toSorted((a, b) => a.project.name.localeCompare(b.project.name) || sizeOf(a) - sizeOf(b));
  }
}

export default defineConfig({
  test: {
    // The name of a file says to which project it belongs. `npm run check` runs "consistency", `npm test` that and
    // "quick", `npm run test:all` everything.
    projects: [
      { extends: true, test: { name: "consistency", include: [consistency], exclude: [foreign], isolate: false } },
      // Most quick files take longer to load the same modules than to run their tests, so they share processes.
      { extends: true, test: { name: "quick", include: [all], exclude: [consistency, full, foreign], isolate: false } },
      { extends: true, test: { name: "full", include: [full], exclude: [foreign] } },
    ],
    // Many tests wait for servers and browsers that they start.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: ShortestFirst },
    globalSetup: "./scripts/testing/shared.ts",
    reporters: ["default", "./scripts/count-reporter.ts"],
    // These limits only end a test that hangs, so no test has limits of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 250_000 } },
  },
});
