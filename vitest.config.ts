import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Starts the slowest files first, so that none is left running alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long =
      /(certify|sound|catch|prism|browser|money|imposters|accessible|package|runtimes|faults|journey)\.test\.ts$/;
    return files.toSorted((a, b) => Number(long.test(b.moduleId)) - Number(long.test(a.moduleId)));
  }
}

// The processes that tests start take most of their time to compile the same modules.
process.env.NODE_COMPILE_CACHE ??= resolve("node_modules/.cache/node");

export default defineConfig({
  test: {
    include: ["{spec,scripts,server,client,conformance}/**/*.test.ts"],
    globalSetup: "./server/testing/postgres-setup.ts",
    reporters: ["default", "./scripts/count-reporter.ts"],
    // Many tests run whole servers and mostly wait for I/O, so one worker per processor would leave processors idle.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // Where the tests decide whether a change is accepted, one that fails is repeated, and named if it then passes: whole
    // clusters, databases and browsers share the machine there. Elsewhere a failure is shown at once.
    retry: process.env.CI ? 1 : 0,
    // Only ends a test that hangs: some of them start a process or a browser, which takes long on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
