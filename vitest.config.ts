import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

// The processes that tests start take most of their time to compile the same modules.
process.env.NODE_COMPILE_CACHE ??= resolve("node_modules/.cache/node");

const all = "{spec,scripts,server,client,conformance}/**/*.test.ts";
const consistency = "**/*.consistency.test.ts";
const full = "**/*.full.test.ts";
const foreign = "**/node_modules/**";

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
    // Many tests of "full" start servers and mostly wait for them.
    maxWorkers: Math.max(3, availableParallelism()),
    globalSetup: "./scripts/testing/shared.ts",
    reporters: ["default", "./scripts/count-reporter.ts"],
    // These limits only end a test that hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
